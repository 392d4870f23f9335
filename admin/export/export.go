// Package export sends a list for spreadsheets and for programs, line by line.
package export

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// media are the types in which a list is exported.
var media = []string{"text/csv", "application/x-ndjson"}

// Media returns the type of the export that a client asks for; empty for a page.
func Media(r *http.Request) string {
	for _, one := range media {
		if strings.HasPrefix(r.Header.Get("Accept"), one) {
			return one
		}
	}
	return ""
}

// Lines is one export: a line of cells, or a JSON object, for each entry.
type Lines interface {
	// Entry adds an entry; one of the two is used.
	Entry(cells func() []string, object any)
	// Flush sends what was written, and Error says whether the client has gone away.
	Flush()
	Error() error
}

// New begins the answer to a client that asks for an export of a type. name is the
// file's, without its end.
func New(w http.ResponseWriter, media, name string, columns []string) Lines {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if strings.HasSuffix(media, "csv") {
		header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
		header.Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
		t := &table{csv.NewWriter(w)}
		_ = t.Write(columns) // Error says so
		return t
	}
	header.Set("Content-Type", media)
	header.Set("Content-Disposition", `attachment; filename="`+name+`.ndjson"`)
	return &objects{to: json.NewEncoder(w)}
}

// objects is an export of a JSON object a line. A field that is unknown to who reads
// it is left alone, where another column would move the others.
type objects struct {
	to  *json.Encoder
	err error
}

func (o *objects) Flush()       {}
func (o *objects) Error() error { return o.err }
func (o *objects) Entry(_ func() []string, object any) {
	if o.err == nil {
		o.err = o.to.Encode(object)
	}
}

// table is an export of a line of cells for each entry.
type table struct{ *csv.Writer }

func (t *table) Entry(cells func() []string, _ any) { _ = t.Write(cells()) }

// Instant returns a time as a cell.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
