package imported

// Entries returns what a source wants, in no order: for a source that keeps it over a restart.
func (s *Set) Entries(name string) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sources {
		if one.name != name {
			continue
		}
		all := make([]Entry, 0, len(one.rows))
		for k, r := range one.rows {
			all = append(all, Entry{Prefix: k.prefix(), Until: r.endTime(), Reason: one.reasons[r.reason], Wide: r.wide})
		}
		return all
	}
	return nil
}
