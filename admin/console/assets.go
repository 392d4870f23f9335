package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// asset is a file that pages refer to. Its path changes with the bytes of any of
// them: they share a folder, so that a module finds another as "./other.js".
type asset struct {
	path, kind    string
	plain, zipped []byte
}

// newAssets reads the files and compresses each once.
func newAssets() map[string]asset {
	assets, sum := make(map[string]asset), sha256.New()
	own, _ := fs.Glob(files, "assets/*")
	others, _ := fs.Glob(files, "thirdparty/*/*")
	for _, name := range append(own, others...) {
		plain, _ := files.ReadFile(name) // it is embedded
		base := path.Base(name)
		fmt.Fprintf(sum, "%s %d %s", base, len(plain), plain)
		assets[base] = asset{kind: cmp.Or(mime.TypeByExtension(path.Ext(base)), "text/plain; charset=utf-8"), plain: plain, zipped: zip(plain)}
	}
	folder := "/console/assets/" + hex.EncodeToString(sum.Sum(nil)[:6]) + "/"
	for base, a := range assets {
		a.path = folder + base
		assets[base] = a
	}
	return assets
}

func zip(plain []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = w.Write(plain)
	_ = w.Close()
	return out.Bytes()
}

// asset sends a file. A browser may keep it for ever: another version of it has
// another path.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := p.assets[r.PathValue("name")]
	if !ok || a.path != r.URL.Path {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.zipped
	}
	_, _ = w.Write(body)
}
