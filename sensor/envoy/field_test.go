package envoy

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A message is as long as its length says, however many bytes the length has.
func TestAppendMessage(t *testing.T) {
	for _, size := range []int{0, 1, 127, 128, 16_383, 16_384, 70_000} {
		inner := bytes.Repeat([]byte{'x'}, size)
		got := AppendMessage([]byte("before"), 3, func(out []byte) []byte { return append(out, inner...) })
		want := protowire.AppendBytes(protowire.AppendTag([]byte("before"), 3, protowire.BytesType), inner)
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %x…", size, got[:16])
		}
	}
}

func TestDamaged(t *testing.T) {
	for name, message := range map[string][]byte{
		"half a tag":                {0x80},
		"field 0":                   {0x02, 0},
		"a varint without an end":   {0x08, 0x80, 0x80},
		"a text without its end":    {0x0a, 5, 'a'},
		"an end of no group":        {0x0c},
		"a group without an end":    {0x0b, 0x08, 1},
		"a group in a group, ended": {0x0b, 0x13, 0x0c},
		"a type that is none":       {0x0f},
	} {
		m := fieldsOf(message)
		for m.Next() {
		}
		if m.Good() {
			t.Errorf("%s is read", name)
		}
	}
}

// Groups a thousand deep are skipped, and ten thousand deep are refused: either is done in
// bounded time and stack.
func TestDeep(t *testing.T) {
	for depth, good := range map[int]bool{1000: true, 30_000: false} {
		message := append(bytes.Repeat([]byte{0x0b}, depth), bytes.Repeat([]byte{0x0c}, depth)...)
		m := fieldsOf(message)
		for m.Next() {
		}
		if m.Good() != good {
			t.Errorf("%d deep: %v", depth, m.Good())
		}
	}
}

func FuzzFields(f *testing.F) {
	f.Add([]byte{0x08, 1, 0x12, 1, 'a', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2b, 0x2c})
	f.Add([]byte{0x0a, 5, 'a'})
	f.Fuzz(func(t *testing.T, message []byte) {
		// protowire's own reading of the whole is the twin.
		good := true
		for rest := message; len(rest) > 0; {
			_, _, n := protowire.ConsumeField(rest)
			if n < 0 {
				good = false
				break
			}
			rest = rest[n:]
		}
		m := fieldsOf(message)
		for m.Next() {
			var text string
			m.Text(&text)
			if inner, ok := m.Message(); ok {
				for inner.Next() {
				}
			}
		}
		if m.Good() != good {
			t.Fatalf("%x: %v, want %v", message, m.Good(), good)
		}
	})
}
