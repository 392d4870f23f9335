package envoy

import (
	"bytes"
	"testing"
)

func TestHead(t *testing.T) {
	for _, c := range []struct {
		head []byte
		size int
		code Code
	}{
		{[]byte{0, 0, 0, 1, 2}, 258, OK},
		{[]byte{0, 0, 0, 0, 0}, 0, OK},
		{[]byte{1, 0, 0, 1, 2}, 0, unimplemented},
		{[]byte{2, 0, 0, 1, 2}, 0, internal},
		{[]byte{0, 0, 3, 0, 0}, mostMessage, OK},
		{[]byte{0, 0, 3, 0, 1}, 0, exhausted},
		{[]byte{0, 255, 255, 255, 255}, 0, exhausted},
		{[]byte{0, 0, 0, 1}, 0, internal},
		{nil, 0, internal},
	} {
		if size, code := readFrameHead(c.head); size != c.size || code != c.code {
			t.Errorf("%v: %d, %v", c.head, size, code)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("message"), []byte{0, 0, 0, 0, 1})
	f.Add(bytes.Repeat([]byte{1}, 300), []byte{1})
	f.Fuzz(func(t *testing.T, message, head []byte) {
		if size, code := readFrameHead(head); code == OK && (size < 0 || size > mostMessage) {
			t.Fatalf("%d", size)
		}
		out := append(BeginFrame([]byte("before")), message...)
		EndFrame(out, 6)
		size, code := readFrameHead(out[6 : 6+FrameHeadSize])
		if len(message) > mostMessage != (code == exhausted) || code == OK && size != len(message) {
			t.Fatalf("%d, %v", size, code)
		}
	})
}
