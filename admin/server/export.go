package server

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/sheetcell"
)

// exported are the columns of an export.
var exported = []string{"prefix", "rule", "reason", "origin", "count", "limit", "since", "until", "proxied", "refused", "last_refused", "refused_by", "owner"}

// exportBlocks sends all blocks that match, page by page as it is read: a million
// rows are never in memory together.
func (s *reads) exportBlocks(w http.ResponseWriter, r *http.Request, f admin.BlockFilter) {
	out := newExport(w, wantedMedia(r), "blocks", exported)
	for page := range s.BlockPages(r.Context(), f) {
		for _, b := range page {
			out.Entry(func() []string { return blockCells(&b) }, &b)
		}
		if out.Flush(); out.Error() != nil {
			return
		}
	}
}

// blockCells returns a block's line of an export.
func blockCells(b *admin.ActiveBlock) []string {
	refused := ""
	if b.Refused != nil {
		refused = strconv.FormatUint(uint64(*b.Refused), 10)
	}
	cell, instant := sheetcell.Quote, exportInstant
	return []string{
		b.Prefix.String(), cell(b.Rule), cell(b.Reason), cell(b.Origin), strconv.FormatUint(uint64(b.Count), 10), strconv.FormatUint(uint64(b.Limit), 10),
		instant(b.Since), instant(b.Until), strconv.FormatBool(b.Proxied), refused, instant(b.LastRefused), cell(b.RefusedBy), cell(b.Owner),
	}
}

// exportMedia are the types in which a list is exported.
var exportMedia = []string{"text/csv", "application/x-ndjson"}

// wantedMedia returns the type of the export that a client asks for; empty for a page.
func wantedMedia(r *http.Request) string {
	for _, one := range exportMedia {
		if strings.HasPrefix(r.Header.Get("Accept"), one) {
			return one
		}
	}
	return ""
}

// exportLines is one export: a line of cells, or a JSON object, for each entry.
type exportLines interface {
	// Entry adds an entry; one of the two is used.
	Entry(cells func() []string, object any)
	// Flush sends what was written, and Error says whether the client has gone away.
	Flush()
	Error() error
}

// newExport begins the answer to a client that asks for an export of a type. name is the
// file's, without its end.
func newExport(w http.ResponseWriter, media, name string, columns []string) exportLines {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if strings.HasSuffix(media, "csv") {
		header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
		header.Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
		t := &exportTable{csv.NewWriter(w)}
		_ = t.Write(columns) // Error says so
		return t
	}
	header.Set("Content-Type", media)
	header.Set("Content-Disposition", `attachment; filename="`+name+`.ndjson"`)
	return &exportObjects{to: json.NewEncoder(w)}
}

// exportObjects is an export of a JSON object a line. A field that is unknown to who reads
// it is left alone, where another column would move the others.
type exportObjects struct {
	to  *json.Encoder
	err error
}

func (o *exportObjects) Flush() {}

func (o *exportObjects) Error() error { return o.err }

func (o *exportObjects) Entry(_ func() []string, object any) {
	if o.err == nil {
		o.err = o.to.Encode(object)
	}
}

// exportTable is an export of a line of cells for each entry.
type exportTable struct{ *csv.Writer }

func (t *exportTable) Entry(cells func() []string, _ any) { _ = t.Write(cells()) }

// exportInstant returns a time as a cell.
func exportInstant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
