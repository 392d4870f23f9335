package traffic

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"time"
)

// Log is an access log in the combined format, as long as a measurement needs.
// A few addresses send most of it (Zipf, s = 1.1), as in real logs: with the
// defaults the first sends about an eighth. A line has about 240 bytes.
type Log struct {
	Lines     int    // how many lines
	Addresses int    // how many addresses to draw from; 0 means 100,000
	Rate      int    // lines a second; 0 means 2,000
	Seed      uint64 // another seed gives another log
}

// logStart is the time of the first line: 2026-06-02 00:00:00 UTC.
const logStart = 1780358400

// zipfSkew is the exponent of every draw of addresses: near the 1 that web
// traffic is known for (Breslau and others, "Web Caching and Zipf-like
// Distributions", INFOCOM 1999), and the least that rand.Zipf handles well.
const zipfSkew = 1.1

// Write writes the log to w. Its error is w's.
func (c Log) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	d := newDraw(c)
	var buf, stamp []byte
	last := int64(-1)
	for i := range c.Lines {
		l := d.line()
		l.at = logStart + int64(i/d.rate)
		if l.at != last {
			last = l.at
			stamp = time.Unix(l.at, 0).UTC().AppendFormat(append(stamp[:0], " - - ["...), stampLayout)
			stamp = append(stamp, "] \""...)
		}
		buf = append(l.addr.AppendTo(buf[:0]), stamp...)
		buf = l.appendRest(buf)
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	return out.Flush()
}

// draw is what a log draws its lines from.
type draw struct {
	rng       *rand.Rand
	addresses *rand.Zipf
	targets   *rand.Zipf
	paths     []string
	rate      int
}

func newDraw(c Log) *draw {
	rng := rand.New(rand.NewPCG(c.Seed, 1))
	d := &draw{rng: rng, rate: orDefault(c.Rate, 2000)}
	d.addresses = rand.NewZipf(rng, zipfSkew, 1, uint64(orDefault(c.Addresses, 100_000))-1)
	for i := range 2000 {
		d.paths = append(d.paths, fmt.Sprintf("/catalogue/%s/item-%d?page=%d", searches[i%len(searches)], i, i%7))
	}
	d.targets = rand.NewZipf(rng, zipfSkew, 4, uint64(len(d.paths))-1)
	return d
}

func orDefault(n, instead int) int {
	if n == 0 {
		return instead
	}
	return n
}

// line draws one line; its time is the caller's.
func (d *draw) line() line {
	n := d.addresses.Uint64()
	l := line{addr: client(n), method: "GET", status: 200, bytes: 200 + d.rng.IntN(40_000),
		target: d.paths[d.targets.Uint64()], referer: origin + "/", agent: browsers[n%uint64(len(browsers))]}
	switch k := d.rng.IntN(200); {
	case k == 0: // so that a rule about logins has something to match
		l.method, l.target, l.bytes = "POST", "/wp-login.php", 2310
	case k < 6:
		l.method, l.target, l.bytes, l.referer = "POST", "/api/v1/cart/"+strconv.Itoa(k), 132, ""
	case k < 16:
		l.status, l.bytes = 304, 0
	case k < 22:
		l.status, l.bytes = 404, 548
	}
	return l
}

// client returns the n-th address, for n below 2^30: one in eight is IPv6, each
// in a /64 of its own, the others are of 32.0.0.0 to 95.255.255.255, where
// nothing is reserved. Neighbours in n are far apart as numbers, and no two
// are the same.
func client(n uint64) netip.Addr {
	const odd = 0x9e3779b1 // a multiplication by an odd number is one to one
	mixed := uint32(n+1) * odd % (1 << 30)
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], mixed)
	if n%8 == 7 {
		return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, b[0], b[1], b[2], b[3], 15: byte(n)})
	}
	b[0] += 32
	return netip.AddrFrom4(b)
}
