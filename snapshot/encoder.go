package snapshot

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
	"unicode/utf8"
)

// maxText is the longest string of bytes in a record. What people wrote is cut
// there (a block must not be lost for the length of its reason).
const maxText = 4 << 10

// encoder appends the parts of records. The first record that cannot be
// written stays as its error. The zero value is ready for use.
type encoder struct {
	buf []byte
	err error
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

func (e *encoder) uint(n uint64)    { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) fixed64(n uint64) { e.buf = binary.LittleEndian.AppendUint64(e.buf, n) }

func (e *encoder) flags(set ...bool) {
	var b byte
	for i, on := range set {
		if on {
			b |= 1 << i
		}
	}
	e.buf = append(e.buf, b)
}

func (e *encoder) bytes(b []byte) {
	if len(b) > maxText {
		e.fail("%d bytes, more than %d: %.40q…", len(b), maxText, b)
		return
	}
	e.uint(uint64(len(b)))
	e.buf = append(e.buf, b...)
}

func (e *encoder) text(s string) {
	if len(s) > maxText {
		n := maxText
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	e.uint(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// firstTime and lastTime are the first and the last time that are written: JSON wants
// years of four digits.
var (
	firstTime = time.Time{}
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// time writes seconds and nanoseconds: nanoseconds alone end in 2262, and a
// block may be meant for ever.
func (e *encoder) time(t time.Time) {
	if t.Before(firstTime) {
		t = firstTime
	}
	if t.After(lastTime) {
		t = lastTime
	}
	e.buf = binary.AppendVarint(e.buf, t.Unix())
	e.uint(uint64(t.Nanosecond()))
}

// shifted moves a time by the offset to the epoch, but not the zero time,
// which says that there is none.
func shifted(t time.Time, offset time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(offset)
}

// The bits of a prefix's first byte.
const (
	prefixV6   = 1 << iota // an IPv6 address
	prefixWith             // a fingerprint of attributes follows the prefix
)

// prefix writes only as many bytes of the address as its length needs.
func (e *encoder) prefix(p netip.Prefix, with bool) {
	if !p.IsValid() || p != p.Masked() || p.Addr().Is4In6() {
		e.fail("%s is not a masked, unmapped prefix", p)
		return
	}
	var form byte
	addr := p.Addr().As16()
	from := addr[12:]
	if p.Addr().Is6() {
		form, from = prefixV6, addr[:]
	}
	if with {
		form |= prefixWith
	}
	e.buf = append(e.buf, form, byte(p.Bits()))
	e.buf = append(e.buf, from[:(p.Bits()+7)/8]...)
}
