package admin

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edgeguard/admin/call"
	"edgeguard/admin/listing"
	"edgeguard/blocklist"
)

// exported are the columns of an export.
var exported = []string{"prefix", "rule", "reason", "origin", "count", "limit", "since", "until", "proxied", "refused", "last_refused", "refused_by"}

// wantsCSV reports whether a client asks for a table instead of JSON.
func wantsCSV(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), "text/csv")
}

// exportBlocks sends all blocks that match as CSV, page by page as it is read: a
// million rows are never in memory together.
func (s *reads) exportBlocks(w http.ResponseWriter, f listing.Filter) {
	f.Node = s.events.node
	header := w.Header()
	header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	header.Set("Content-Disposition", `attachment; filename="blocks.csv"`)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	out, now := csv.NewWriter(w), s.reader.Now()
	_ = out.Write(exported) // who has gone away needs no answer: Error says so
	for more := true; more && out.Error() == nil; out.Flush() {
		picked := f.Pick(s.blocks(now, &f), call.MaxLimit, false)
		for _, b := range s.reader.Active(picked.Blocks) {
			_ = out.Write(row(&b))
		}
		more, f.After = picked.More || picked.Cut, blocklist.PlaceOf(&picked.Last)
	}
}

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
