package console

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

// bodies are buffers of pages, as long as the collector leaves them: a page that grows
// its own takes four times its length.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// mostKept is how long a buffer that is kept may be: a rare long page is not.
const mostKept = 512 << 10

// pageBuffer returns an empty buffer for a page, to be followed by [keepBuffer].
func pageBuffer() *bytes.Buffer { return bodies.Get().(*bytes.Buffer) }

// keepBuffer keeps a buffer for another page.
func keepBuffer(body *bytes.Buffer) {
	if body.Cap() <= mostKept {
		body.Reset()
		bodies.Put(body)
	}
}

// sendPage sends a page, compressed where that is safe: a page of fifty rows has
// 200 kB, and a twentieth of it over the wire.
func sendPage(w http.ResponseWriter, r *http.Request, status int, body *bytes.Buffer) {
	w.Header().Set("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if !zips(r) {
		w.WriteHeader(status)
		_, _ = body.WriteTo(w) // who has gone away needs no answer
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(w)
	_, _ = body.WriteTo(z)
	_ = z.Close()
}

// zips reports whether a page is to be compressed. One that another site led to is
// not: that site chose what the page repeats of the request, and who sees the length
// of the answers could find out what else it holds.
func zips(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && (site == "none" || site == "same-origin")
}
