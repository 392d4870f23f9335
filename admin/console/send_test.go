package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"testing"
)

// A page is compressed for a browser that came by itself or from this console, and
// not where another site chose its address.
func TestSend(t *testing.T) {
	const text = "a page, a page, a page"
	for _, c := range []struct {
		accepts, site string
		zipped        bool
	}{
		{"gzip, deflate, br", "none", true}, {"gzip", "same-origin", true},
		{"gzip", "cross-site", false}, {"gzip", "same-site", false}, {"gzip", "", false}, {"br", "none", false}, {"", "none", false},
	} {
		for range 2 { // the second time with a used compressor
			r, w := httptest.NewRequest("GET", "/blocked", nil), httptest.NewRecorder()
			r.Header.Set("Accept-Encoding", c.accepts)
			r.Header.Set("Sec-Fetch-Site", c.site)
			sendPage(w, r, 404, bytes.NewBufferString(text))
			var read io.Reader = w.Body
			if w.Header().Get("Content-Encoding") == "gzip" != c.zipped || w.Code != 404 {
				t.Errorf("%+v: %d %v", c, w.Code, w.Header())
				continue
			}
			if c.zipped {
				z, err := gzip.NewReader(w.Body)
				if err != nil {
					t.Fatal(err)
				}
				read = z
			}
			if got, err := io.ReadAll(read); err != nil || string(got) != text {
				t.Errorf("%+v: %q %v", c, got, err)
			}
		}
	}
}
