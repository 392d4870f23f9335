package console

import (
	"compress/gzip"
	"io"
	"path"
	"strings"
	"testing"
)

// A browser that opens the console for the first time loads little: the scripts
// are short as they are written, and the style and the scripts of the first page
// leave room for its HTML.
func TestSizes(t *testing.T) {
	own, first := 0, 0
	for name, a := range newAssets() {
		if strings.HasPrefix(name, "uPlot") { // pages with a chart
			continue
		}
		if path.Ext(name) == ".js" {
			own += len(a.plain)
		}
		first += len(a.zipped)
		r, err := gzip.NewReader(strings.NewReader(string(a.zipped)))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(r); err != nil || string(plain) != string(a.plain) {
			t.Errorf("%s is not what was compressed: %v", name, err)
		}
	}
	if own > 15_000 || own == 0 {
		t.Errorf("the scripts have %d bytes, at most 15,000 are right", own)
	}
	if first > 45_000 {
		t.Errorf("the console's own files have %d bytes compressed, at most 45,000 are right: 60,000 with a page of 15,000", first)
	}
}
