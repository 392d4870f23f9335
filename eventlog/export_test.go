package eventlog

// Bytes returns how much the log takes of the disk.
func (l *Log) Bytes() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.sections {
		for _, s := range l.sections[i].segments {
			n += s.disk
		}
	}
	return n
}
