package admin

import (
	"net/http"
	"strconv"

	"edgeguard/admin/call"
	"edgeguard/internal/sheetcell"
)

// exported are the columns of an export.
var exported = []string{"prefix", "rule", "reason", "origin", "count", "limit", "since", "until", "proxied", "refused", "last_refused", "refused_by", "owner"}

// exportBlocks sends all blocks that match, page by page as it is read: a million
// rows are never in memory together.
func (s *reads) exportBlocks(w http.ResponseWriter, r *http.Request, f BlockFilter) {
	f.Node = s.events.node
	out := newExport(w, ExportMedia(r), "blocks", exported)
	for more := true; more && out.Error() == nil; out.Flush() {
		picked, last, _ := s.pick(r.Context(), &f, call.MaxLimit, false)
		for _, b := range s.reader.Active(picked.Blocks) {
			out.Entry(b.cells, &b)
		}
		more, f.After = picked.More || picked.Cut, last
	}
}

// cells returns the block's line of an export.
func (b *ActiveBlock) cells() []string {
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
