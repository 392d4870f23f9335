package console

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edgeguard/admin/assets"
)

// A browser that opens the console for the first time loads little: the scripts
// are short as they are written, and the style and the scripts of all pages leave
// room for the HTML.
func TestSizes(t *testing.T) {
	own, zipped := 0, 0
	all := assets.New(files, "assets/*")
	names, _ := fs.Glob(files, "assets/*")
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		name = strings.TrimPrefix(name, "assets/")
		r := httptest.NewRequest(http.MethodGet, all.Path(name), nil)
		r.SetPathValue("name", name)
		plain := httptest.NewRecorder()
		all.ServeHTTP(plain, r)
		r.Header.Set("Accept-Encoding", "gzip")
		small := httptest.NewRecorder()
		all.ServeHTTP(small, r)
		if plain.Body.String() != string(content) || small.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d bytes, %v", name, plain.Body.Len(), small.Header())
		}
		if zipped += small.Body.Len(); strings.HasSuffix(name, ".js") {
			own += len(content)
		}
	}
	if own > 15_000 || own == 0 {
		t.Errorf("the scripts have %d bytes, at most 15,000 are right", own)
	}
	if zipped > 45_000 {
		t.Errorf("the console's own files have %d bytes compressed, at most 45,000 are right: 60,000 with a page of 15,000", zipped)
	}
}
