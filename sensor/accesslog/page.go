package accesslog

import "edgeguard/logline"

// page is a block of a log with the memory it is in. Pages go round between
// the goroutine that reads, the one that parses, and the caller.
type page struct {
	logline.Chunk
	buf []byte // the memory of Text
	// own parses the live lines of a connection; nil where the inlet's parser does.
	own *parsing
}

// readBuffer is what a follower reads into, and what wakes it. The followers of a pattern take turns in one.
type readBuffer struct {
	buf     []byte
	page    page
	watcher *watcher
}

func (r *readBuffer) open() {
	if r.watcher == nil {
		r.buf, r.watcher = make([]byte, contextSize+blockSize), newWatcher()
	}
}

// parsing is the parser of the lines of one origin. What one connection sent, such
// as the names of columns, says nothing of another's lines.
type parsing struct{ lines *logline.Parser }
