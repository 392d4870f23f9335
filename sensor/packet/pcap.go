package packet

import "fmt"

// The first four bytes of a pcap, read as little-endian.
const (
	magicMicro    = 0xa1b2c3d4 // times in microseconds
	magicNano     = 0xa1b23c4d // times in nanoseconds
	magicModified = 0xa1b2cd34 // microseconds, and 8 more bytes a record (Kuznetzov's patch of libpcap)
)

const pcapHeader = 24

// pcap is a file in the format of
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html.
type pcap struct {
	w      *window
	order  order
	header int   // bytes before each packet
	unit   int64 // nanoseconds in a unit of the fraction of time
	link   LinkType
	// mixed marks old files that may hold the two lengths of a record in the
	// other order (libpcap before 0.5 wrote them so).
	mixed bool
}

// openPcap reads the file's header. Its magic has been seen.
func openPcap(w *window) (*pcap, error) {
	b := w.peek(pcapHeader)
	if len(b) < pcapHeader {
		return nil, fmt.Errorf("pcap header cut off after %d of %d bytes", len(b), pcapHeader)
	}
	p := &pcap{w: w, header: 16, unit: 1000}
	p.order.swapped = !isPcapMagic(p.order.uint32(b))
	switch p.order.uint32(b) {
	case magicNano:
		p.unit = 1
	case magicModified:
		p.header = 24
	}
	major, minor := p.order.uint16(b[4:]), p.order.uint16(b[6:])
	if major < 2 {
		return nil, fmt.Errorf("pcap version %d.%d is not supported: convert it with tcpdump or editcap", major, minor)
	}
	p.mixed = major == 2 && minor <= 3
	p.link = LinkType(p.order.uint32(b[20:]) & 0x03ffffff) // the rest says how long the frame check is
	w.from += pcapHeader
	return p, nil
}

func isPcapMagic(v uint32) bool {
	return v == magicMicro || v == magicNano || v == magicModified
}

// next implements records.
func (p *pcap) next(r *record) error {
	w := p.w
	b := w.buf[w.from:w.to]
	if len(b) < p.header {
		if b = w.peek(p.header); len(b) < p.header {
			return p.cut(len(b))
		}
	}
	length := p.order.uint32(b[8:])
	if p.mixed {
		length = min(length, p.order.uint32(b[12:]))
	}
	if length > maxCapture {
		return w.damage("a packet claims %d bytes, more than %d", length, maxCapture)
	}
	whole := p.header + int(length)
	if len(b) < whole {
		if b = w.peek(whole); len(b) < whole {
			return w.short("a packet")
		}
	}
	r.sec = int64(p.order.uint32(b))
	r.nsec = int64(p.order.uint32(b[4:])) * p.unit
	r.timed = true
	r.link = p.link
	r.data = b[p.header:whole]
	w.from += whole
	return nil
}

// cut says what it means that only n bytes of a record's header are left.
func (p *pcap) cut(n int) error {
	if n == 0 {
		return p.w.end()
	}
	return p.w.short("the header of a packet")
}
