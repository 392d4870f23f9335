package console

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// A browser that opens the console for the first time loads little: the style and
// the scripts of all pages leave room for the HTML.
func TestSizes(t *testing.T) {
	zipped := 0
	all := newAssets(files, "assets/*")
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
		zipped += small.Body.Len()
	}
	if zipped > 45_000 {
		t.Errorf("the console's own files have %d bytes compressed, at most 45,000 are right: 60,000 with a page of 15,000", zipped)
	}
}

var (
	named    = regexp.MustCompile(`asset "([^"]+\.js)"`)
	imported = regexp.MustCompile(`from "\./([^"]+\.js)"`)
)

// The scripts that any one page loads are short as they are written, those that they
// import included; and each script is of some page.
func TestScriptsOfAPage(t *testing.T) {
	frame, err := fs.ReadFile(files, "templates/layout.html")
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	pages, _ := fs.Glob(files, "templates/*.html")
	for _, page := range pages {
		own, err := fs.ReadFile(files, page)
		if err != nil {
			t.Fatal(err)
		}
		sizes := make(map[string]int)
		for _, name := range named.FindAllStringSubmatch(string(frame)+string(own), -1) {
			loads(t, name[1], sizes)
		}
		sum := 0
		for name, size := range sizes {
			sum, used[name] = sum+size, true
		}
		if sum > 15_000 || sum == 0 {
			t.Errorf("%s loads %d bytes of scripts, at most 15,000 are right: %v", page, sum, sizes)
		}
	}
	scripts, _ := fs.Glob(files, "assets/*.js")
	for _, name := range scripts {
		if !used[strings.TrimPrefix(name, "assets/")] {
			t.Errorf("no page loads %s", name)
		}
	}
}

// load adds a script and what it imports. Those of others are not counted.
func loads(t *testing.T, name string, sizes map[string]int) {
	t.Helper()
	if _, known := sizes[name]; known || strings.HasPrefix(name, "uPlot") {
		return
	}
	content, err := fs.ReadFile(files, "assets/"+name)
	if err != nil {
		t.Fatal(err)
	}
	sizes[name] = len(content)
	for _, other := range imported.FindAllStringSubmatch(string(content), -1) {
		loads(t, other[1], sizes)
	}
}
