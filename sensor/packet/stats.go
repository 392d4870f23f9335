package packet

// Stats say what a [Reader] has read so far. It reads ahead, so they may run
// a few batches before what Next has returned; after io.EOF they are final.
type Stats struct {
	Packets   uint64 // records read, whatever they hold
	IP        uint64 // of these, IPv4 and IPv6 packets with a readable header
	Events    uint64 // events made; fewer than IP where Options leave some out
	Malformed uint64 // said to be IP by their link layer, but not readable as such
	Timeless  uint64 // gave no event, since neither they nor a packet before has a time
	// NotIP counts the packets that hold no IP, or hold it in a way that is not
	// read, by link type.
	NotIP map[LinkType]uint64
	// Dropped packets of an interface found no room: the reader was too slow.
	Dropped uint64
	// BytesRead is how much of the file (compressed, if it is) has been read,
	// of BytesTotal, which is 0 where the size is not known.
	BytesRead, BytesTotal int64
	// Truncated says where and why reading ended before the end of the file;
	// empty if it did not.
	Truncated string
}
