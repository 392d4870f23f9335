package admin

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edgeguard/admin/call"
	"edgeguard/admin/listing"
)

// exported are the columns of an export.
var exported = []string{"prefix", "rule", "reason", "origin", "count", "limit", "since", "until", "proxied", "refused", "last_refused", "refused_by"}

// media are the types in which a list is exported.
var media = []string{"text/csv", "application/x-ndjson"}

// exports returns the type of the export that a client asks for; empty for a page.
func exports(r *http.Request) string {
	for _, one := range media {
		if strings.HasPrefix(r.Header.Get("Accept"), one) {
			return one
		}
	}
	return ""
}

// lines is one format of an export.
type lines interface {
	head()
	block(b *ActiveBlock)
	// Flush sends what was written, and Error says whether the client has gone away.
	Flush()
	Error() error
}

// exportBlocks sends all blocks that match, page by page as it is read: a million
// rows are never in memory together.
func (s *reads) exportBlocks(w http.ResponseWriter, r *http.Request, f listing.Filter) {
	f.Node = s.events.node
	out, header := lines(&table{csv.NewWriter(w)}), w.Header()
	header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	header.Set("Content-Disposition", `attachment; filename="blocks.csv"`)
	if exports(r) != media[0] {
		out = &objects{to: json.NewEncoder(w)}
		header.Set("Content-Type", media[1])
		header.Set("Content-Disposition", `attachment; filename="blocks.ndjson"`)
	}
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	out.head()
	for more := true; more && out.Error() == nil; out.Flush() {
		picked, last, _ := s.pick(r.Context(), &f, call.MaxLimit, false)
		for _, b := range s.reader.Active(picked.Blocks) {
			out.block(&b)
		}
		more, f.After = picked.More || picked.Cut, last
	}
}

// objects is an export of a JSON object a line. A field that is unknown to who reads
// it is left alone, where another column would move the others.
type objects struct {
	to  *json.Encoder
	err error
}

func (o *objects) head()        {}
func (o *objects) Flush()       {}
func (o *objects) Error() error { return o.err }
func (o *objects) block(b *ActiveBlock) {
	if o.err == nil {
		o.err = o.to.Encode(b)
	}
}

// table is an export of a line of cells for each block.
type table struct{ *csv.Writer }

func (t *table) head()                { _ = t.Write(exported) } // Error says so
func (t *table) block(b *ActiveBlock) { _ = t.Write(row(b)) }

func row(b *ActiveBlock) []string {
	refused := ""
	if b.Refused != nil {
		refused = strconv.FormatUint(uint64(*b.Refused), 10)
	}
	return []string{
		b.Prefix.String(), cell(b.Rule), cell(b.Reason), cell(b.Origin), strconv.FormatUint(uint64(b.Count), 10), strconv.FormatUint(uint64(b.Limit), 10),
		instant(b.Since), instant(b.Until), strconv.FormatBool(b.Proxied), refused, instant(b.LastRefused), cell(b.RefusedBy),
	}
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// cell returns a text that a spreadsheet does not take for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
