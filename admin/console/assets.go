package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// asset is a file that pages refer to, by a path that changes with its bytes.
type asset struct {
	path, kind    string
	plain, zipped []byte
}

// newAssets reads the files and compresses each once.
func newAssets() map[string]asset {
	assets := make(map[string]asset)
	names, _ := fs.Glob(files, "assets/*")
	for _, name := range names {
		plain, _ := files.ReadFile(name) // it is embedded
		sum := sha256.Sum256(plain)
		base := path.Base(name)
		assets[base] = asset{
			path: "/console/assets/" + hex.EncodeToString(sum[:6]) + "/" + base,
			kind: mime.TypeByExtension(path.Ext(base)), plain: plain, zipped: zip(plain),
		}
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
