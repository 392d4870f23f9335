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
		{[]byte{1, 0, 0, 1, 2}, 0, Unimplemented},
		{[]byte{2, 0, 0, 1, 2}, 0, Internal},
		{[]byte{0, 0, 3, 0, 0}, MostMessage, OK},
		{[]byte{0, 0, 3, 0, 1}, 0, Exhausted},
		{[]byte{0, 255, 255, 255, 255}, 0, Exhausted},
		{[]byte{0, 0, 0, 1}, 0, Internal},
		{nil, 0, Internal},
	} {
		if size, code := ReadFrameHead(c.head); size != c.size || code != c.code {
			t.Errorf("%v: %d, %v", c.head, size, code)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("message"), []byte{0, 0, 0, 0, 1})
	f.Add(bytes.Repeat([]byte{1}, 300), []byte{1})
	f.Fuzz(func(t *testing.T, message, head []byte) {
		if size, code := ReadFrameHead(head); code == OK && (size < 0 || size > MostMessage) {
			t.Fatalf("%d", size)
		}
		out := append(BeginFrame([]byte("before")), message...)
		EndFrame(out, 6)
		size, code := ReadFrameHead(out[6 : 6+FrameHeadSize])
		if len(message) > MostMessage != (code == Exhausted) || code == OK && size != len(message) {
			t.Fatalf("%d, %v", size, code)
		}
	})
}
