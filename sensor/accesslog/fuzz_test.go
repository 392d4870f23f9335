package accesslog

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// FuzzReader holds that no file makes a reader panic or hang, however it is
// compressed, cut or laid out.
func FuzzReader(f *testing.F) {
	f.Add([]byte(goodLine))
	f.Add(compressed(f, []byte(goodLine)))
	f.Add(compressed(f, []byte(strings.Repeat(goodLine, 50)))[:60])
	f.Add([]byte(`{"ts":1,"remote_addr":"192.0.2.1"}`))
	f.Add([]byte(strings.Replace(goodLine, "/", "/x", 1))) // no access log: the formats of all services are tried
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Open("-", nil, Options{Stdin: bytes.NewReader(file), Window: 300e9})
		if err != nil {
			return
		}
		defer r.Close()
		events, err := drain(r)
		if s := r.Stats(); uint64(len(events)) != s.Events || err == nil {
			t.Fatalf("%d events, %+v, %v", len(events), s, err)
		}
		if err != io.EOF && len(file) > 2 && file[0] != 0x1f {
			t.Fatal(err)
		}
	})
}
