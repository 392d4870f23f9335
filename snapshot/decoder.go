package snapshot

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"time"
)

// decoder takes the parts of records off a frame's payload. After the first
// that is not as an encoder writes it err says why, and every part is zero. It
// allocates nothing but texts, each no longer than maxText and than what is
// there.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.rest = nil
}

// take returns the next n bytes; nil if there are not as many.
func (d *decoder) take(n int) []byte {
	if d.err != nil || n > len(d.rest) {
		d.fail("a record ends too early")
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail("a number is cut short or too great")
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) uint32() uint32 {
	n := d.uint()
	if n > math.MaxUint32 {
		d.fail("a number over 32 bits: %d", n)
		return 0
	}
	return uint32(n)
}

func (d *decoder) fixed64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) flags(set ...*bool) {
	b := d.byte()
	for i, on := range set {
		*on = b&(1<<i) != 0
	}
	if b>>len(set) != 0 {
		d.fail("unknown flags: %#x", b)
	}
}

// bytes returns a part of the payload, not a copy.
func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > maxText {
		d.fail("a text of %d bytes", n)
		return nil
	}
	return d.take(int(n))
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) time() time.Time {
	seconds, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail("a time is cut short or too great")
		return time.Time{}
	}
	d.rest = d.rest[size:]
	nanos := d.uint()
	if seconds < firstTime.Unix() || seconds > lastTime.Unix() || nanos >= uint64(time.Second) {
		d.fail("not a time: %d s and %d ns", seconds, nanos)
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos)).UTC()
}

func (d *decoder) prefix() (_ netip.Prefix, with bool) {
	form, bits := d.byte(), int(d.byte())
	var full [16]byte
	size := 4
	if form&prefixV6 != 0 {
		size = 16
	}
	if form&^(prefixV6|prefixWith) != 0 || bits > 8*size {
		d.fail("not a prefix: form %#x of %d bits", form, bits)
		return netip.Prefix{}, false
	}
	copy(full[:], d.take((bits+7)/8))
	if d.err != nil {
		return netip.Prefix{}, false
	}
	addr := netip.AddrFrom16(full)
	if size == 4 {
		addr = netip.AddrFrom4([4]byte(full[:4]))
	}
	p := netip.PrefixFrom(addr, bits)
	if p != p.Masked() || addr.Is4In6() {
		d.fail("%s is not a masked, unmapped prefix", p)
		return netip.Prefix{}, false
	}
	return p, form&prefixWith != 0
}
