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

// assetFiles are what pages refer to, compressed once. Their paths change with the bytes
// of any of them, so that browsers keep them: they share a folder, so that a module
// finds another as "./other.js". Make them with [newAssets].
type assetFiles map[string]asset

type asset struct {
	path, kind    string
	plain, zipped []byte
}

// newAssets reads the files that match the patterns and compresses each once. They are
// named by the last part of their names.
func newAssets(from fs.FS, patterns ...string) assetFiles {
	assets, sum := make(assetFiles), sha256.New()
	var names []string
	for _, pattern := range patterns {
		found, _ := fs.Glob(from, pattern)
		names = append(names, found...)
	}
	for _, name := range names {
		plain, _ := fs.ReadFile(from, name) // it is embedded
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

// Path returns where a file is.
func (f assetFiles) Path(name string) string { return f[name].path }

// ServeHTTP sends the file that the pattern's wildcard `name` names. A browser may
// keep it for ever: another version of it has another path.
func (f assetFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := f[r.PathValue("name")]
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
