package haproxy

import (
	"bytes"
	"math"
	"testing"
)

// The forms are those of HAProxy's doc/peers.txt and of its src/tools.c.
func TestForms(t *testing.T) {
	for v, want := range map[uint64]string{
		0:              "\x00",
		239:            "\xef",
		240:            "\xf0\x00",
		0x1234:         "\xf4\x94\x01",
		2287:           "\xff\x7f",
		2288:           "\xf0\x80\x00",
		264431:         "\xff\xff\x7f",
		264432:         "\xf0\x80\x80\x00",
		math.MaxUint32: "\xff\xf0\xfe\xfe\x7e",
		math.MaxUint64: "\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0e",
	} {
		if got := AppendVarint(nil, v); string(got) != want {
			t.Errorf("Append(%d) = %x, want %x", v, got, want)
		}
		if got, n := ReadVarint([]byte(want + "\xff")); got != v || n != len(want) {
			t.Errorf("Read(%x) = %d, %d, want %d, %d", want, got, n, v, len(want))
		}
	}
}

func TestReadSaysWhyNot(t *testing.T) {
	for in, want := range map[string]int{
		"":                                     0,
		"\xf0":                                 0,
		"\xf4\x94":                             0,
		"\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe": 0,
		"\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0f":     -1, // one more than 64 bits hold, by the sum
		"\xf0\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x10":     -1, // by the last byte alone
		"\xf0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00": -1, // by its length
	} {
		if v, n := ReadVarint([]byte(in)); v != 0 || n != want {
			t.Errorf("Read(%x) = %d, %d, want 0, %d", in, v, n, want)
		}
	}
}

// FuzzRead checks that a value has one form alone: what is read is written as it was.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\xf4\x94\x01"))
	f.Add([]byte("\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0e"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n := ReadVarint(b)
		if n > MaxVarint || n > len(b) {
			t.Fatalf("Read(%x) read %d bytes", b, n)
		}
		if n > 0 && !bytes.Equal(AppendVarint(nil, v), b[:n]) {
			t.Errorf("Read(%x) = %d, which is written %x", b[:n], v, AppendVarint(nil, v))
		}
	})
}

func FuzzAppend(f *testing.F) {
	f.Add(uint64(240))
	f.Fuzz(func(t *testing.T, v uint64) {
		b := AppendVarint(nil, v)
		if got, n := ReadVarint(b); got != v || n != len(b) {
			t.Errorf("Read(Append(%d)) = %d, %d, want %d, %d", v, got, n, v, len(b))
		}
		for cut := range b {
			if _, n := ReadVarint(b[:cut]); n != 0 {
				t.Errorf("Read(%x) = %d bytes, want 0: the value is cut", b[:cut], n)
			}
		}
	})
}
