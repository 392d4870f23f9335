package console

import (
	"iter"
	"net/http"
	"net/netip"

	"edgeguard"
)

// networkPage is the blocks inside a network, and those around it.
type networkPage struct {
	frame
	Network        string
	Lists          []listLine
	Around, Inside blockTable
	More           bool
	Acts           []link
}

// networkLength is how many blocks the page of a network shows.
const networkLength = 100

func (p *blockHandlers) network(w http.ResponseWriter, r *http.Request) (string, any) {
	prefix, err := netip.ParsePrefix(r.PathValue("prefix"))
	if err != nil {
		return "", &notFound{Text: r.PathValue("prefix") + " is not a network.", Fix: "Try 203.0.113.0/24 or 2001:db8::/64."}
	}
	if prefix.IsSingleIP() || prefix != prefix.Masked() {
		http.Redirect(w, r, pathOf(prefix.Masked()), http.StatusSeeOther)
		return "", nil
	}
	shown, now := &networkPage{frame: p.frames.of(r, "network", prefix.String()), Network: prefix.String()}, p.reader.Now()
	shown.Lists = newListLines(&shown.stats)
	shown.Around.Heads, shown.Inside.Heads = plainHeads(), plainHeads()
	shown.Around.May, shown.Inside.May = shown.May, shown.May
	shown.Acts = shown.offers(p.reader, prefix)
	for _, b := range p.reader.Active(append(p.reader.Find(now, prefix), p.reader.ImportedAround(now, prefix)...)) {
		shown.Around.Rows = append(shown.Around.Rows, p.row(&shown.frame, now, &b))
	}
	inside := within(nil, p.reader.Blocks(now, prefix), prefix)
	for _, l := range p.reader.Imports().Feeds {
		if others, ok := p.reader.ImportedBy(now, edgeguard.OwnerRule(l.Name), prefix); ok {
			inside = within(inside, others, prefix)
			break // they are of all lists
		}
	}
	if shown.More = len(inside) > networkLength; shown.More {
		inside = inside[:networkLength]
	}
	for _, b := range p.reader.Active(inside) {
		shown.Inside.Rows = append(shown.Inside.Rows, p.row(&shown.frame, now, &b))
	}
	return "network.html", shown
}

// within adds the blocks that lie inside a prefix, and are not of exactly it, to others: at
// most one more than a page shows.
func within(all []edgeguard.Block, blocks iter.Seq[edgeguard.Block], prefix netip.Prefix) []edgeguard.Block {
	for b := range blocks {
		if !prefix.Contains(b.Prefix.Addr()) || b.Prefix.Bits() < prefix.Bits() || len(all) > networkLength {
			break
		}
		if b.Prefix != prefix {
			all = append(all, b)
		}
	}
	return all
}
