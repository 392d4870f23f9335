package accesslog

import "edgeguard/logline"

// page is a block of a log with the memory it is in. Pages go round between
// the goroutine that reads, the one that parses, and the caller.
type page struct {
	logline.Chunk
	buf []byte // the memory of Text
}
