package admin

import (
	"net/http"
	"net/netip"

	"edgeguard"
)

// zeroPrefix is before all others.
var zeroPrefix netip.Prefix

// filter says which blocks a list shows.
type filter struct {
	rule, origin string
	within       netip.Prefix // only blocks inside it; zero for all
	contains     netip.Addr   // only blocks that hold it; zero for all
	cursor       netip.Prefix // only blocks behind it; zero for all
}

func readFilter(r *http.Request) (f filter, limit int, p *Problem) {
	q, p := readQuery(r, "rule", "origin", "prefix", "contains", "limit", "cursor")
	if p != nil {
		return f, 0, p
	}
	f.rule, f.origin = q["rule"], q["origin"]
	if f.within, p = q.prefix("prefix"); p != nil {
		return f, 0, p
	}
	if f.cursor, p = q.prefix("cursor"); p != nil {
		return f, 0, p
	}
	if text, given := q["contains"]; given {
		if f.contains, p = parseAddr("contains", text); p != nil {
			return f, 0, p
		}
	}
	limit, p = q.limit()
	return f, limit, p
}

// from is where the list begins: what is inside a prefix lies together and
// begins with the prefix itself.
func (f *filter) from() netip.Prefix {
	if f.cursor.Compare(f.within) > 0 {
		return f.cursor
	}
	return f.within
}

// past reports whether no block from this one on is inside the prefix.
func (f *filter) past(prefix netip.Prefix) bool {
	return f.within.IsValid() && !f.within.Contains(prefix.Addr())
}

func (f *filter) wants(b *edgeguard.Block) bool {
	return b.Prefix != f.cursor &&
		(f.rule == "" || b.Rule == f.rule) &&
		(f.origin == "" || b.Origin == f.origin)
}
