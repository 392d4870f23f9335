package eventlog

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"time"
)

const (
	magic    = "egevent1"
	headSize = 8         // of a frame: length and checksum
	maxFrame = 128 << 10 // of a payload
	maxText  = 255
	// MaxPrefixes is how many prefixes an entry has at most, and MaxBody how long its body is.
	MaxPrefixes = 1024
	MaxBody     = 96 << 10
)

// Entry is one thing that happened.
type Entry struct {
	Number     uint64 // in the order in which they were added, from 1 on; set by [Log.Add]
	Time       time.Time
	Kind, Rule string
	Prefixes   []netip.Prefix // by which it is found
	Body       []byte         // of the writer's own form
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends an entry as it is written. What is too long is cut.
func appendFrame(buf []byte, e *Entry) []byte {
	at := len(buf)
	buf = append(buf, make([]byte, headSize)...)
	buf = binary.LittleEndian.AppendUint64(buf, e.Number)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(e.Time.UnixNano()))
	for _, text := range []string{e.Kind, e.Rule} {
		text = text[:min(len(text), maxText)]
		buf = append(append(buf, byte(len(text))), text...)
	}
	prefixes := e.Prefixes[:min(len(e.Prefixes), MaxPrefixes)]
	buf = binary.AppendUvarint(buf, uint64(len(prefixes)))
	for _, p := range prefixes {
		key := keyOf(p)
		buf = append(buf, key[:]...)
	}
	buf = append(buf, e.Body[:min(len(e.Body), MaxBody)]...)
	payload := buf[at+headSize:]
	binary.LittleEndian.PutUint32(buf[at:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(buf[at+4:], crc32.Checksum(payload, castagnoli))
	return buf
}

// frameSize returns how long the frame is whose head b begins with; 0 if it is none.
func frameSize(b []byte) int {
	if len(b) < headSize {
		return 0
	}
	n := binary.LittleEndian.Uint32(b)
	if n < 16 || n > maxFrame {
		return 0
	}
	return headSize + int(n)
}

// readFrame reads a whole frame. The entry's body is a part of it.
func readFrame(frame []byte) (e Entry, ok bool) {
	if size := frameSize(frame); size == 0 || size != len(frame) || crc32.Checksum(frame[headSize:], castagnoli) != binary.LittleEndian.Uint32(frame[4:]) {
		return e, false
	}
	rest := frame[headSize:]
	e.Number = binary.LittleEndian.Uint64(rest)
	e.Time = time.Unix(0, int64(binary.LittleEndian.Uint64(rest[8:]))).UTC()
	rest = rest[16:]
	for _, text := range []*string{&e.Kind, &e.Rule} {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return e, false
		}
		*text, rest = string(rest[1:1+rest[0]]), rest[1+int(rest[0]):]
	}
	n, size := binary.Uvarint(rest)
	if size <= 0 || n > MaxPrefixes || len(rest)-size < int(n)*keySize {
		return e, false
	}
	rest = rest[size:]
	for ; n > 0; n-- {
		p, ok := prefixKey(rest[:keySize]).prefix()
		if !ok {
			return e, false
		}
		e.Prefixes, rest = append(e.Prefixes, p), rest[keySize:]
	}
	e.Body = rest
	return e, true
}

const keySize = 17

// prefixKey is a prefix as it is written: its bytes sort what lies inside another behind it.
type prefixKey [keySize]byte

func keyOf(p netip.Prefix) (k prefixKey) {
	addr := p.Masked().Addr().As16()
	copy(k[:], addr[:])
	k[16] = byte(bitsOf(p))
	return k
}

// bitsOf returns the length of a prefix in the 128 bits of a key.
func bitsOf(p netip.Prefix) int {
	if p.Addr().Is4() {
		return p.Bits() + 96
	}
	return p.Bits()
}

func (k prefixKey) prefix() (p netip.Prefix, ok bool) {
	addr, bits := netip.AddrFrom16([16]byte(k[:16])), int(k[16])
	if addr.Is4In6() && bits >= 96 {
		addr, bits = addr.Unmap(), bits-96
	}
	p = netip.PrefixFrom(addr, bits)
	return p, p.IsValid() && p == p.Masked()
}

// around returns the key of the network of a length that holds this one.
func (k prefixKey) around(bits int) (wide prefixKey) {
	copy(wide[:], k[:bits/8])
	if bits%8 > 0 {
		wide[bits/8] = k[bits/8] & (0xff << (8 - bits%8))
	}
	wide[16] = byte(bits)
	return wide
}

// holds reports whether another key's network lies inside this one.
func (k prefixKey) holds(other prefixKey) bool {
	inside := other.around(int(k[16]))
	return other[16] >= k[16] && bytes.Equal(inside[:], k[:])
}
