package snapshot

import (
	"testing"
	"time"
)

// A version before this one sets a file with unknown flags aside. It still reads a
// block of which nothing new is known.
func TestFlagsOfBefore(t *testing.T) {
	const afterPrefix = 6 // form, bits and four bytes of a /32
	for _, tt := range []struct {
		change func(*Block)
		flags  byte
	}{
		{func(*Block) {}, 0},
		{func(b *Block) { b.Forced = true }, 1},
		{func(b *Block) { b.Signed = true }, 1 << 5},
		{func(b *Block) { b.Forced, b.Distant = true, true }, 1<<6 | 1},
	} {
		b := block("203.0.113.9/32", noon.Add(time.Hour))
		tt.change(&b)
		var e encoder
		e.block(&b, 0)
		if e.err != nil || e.buf[afterPrefix] != tt.flags {
			t.Errorf("%+v: flags %#x, want %#x; %v", b, e.buf[afterPrefix], tt.flags, e.err)
		}
	}
}
