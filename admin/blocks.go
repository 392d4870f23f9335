package admin

import (
	"fmt"
	"net/http"
	"net/netip"

	"edgeguard"
	"edgeguard/admin/call"
)

// ActiveBlock returns the block of exactly a prefix with what is shown beside it, be
// it imported or not. Its problems are those of Standing.
func (v *View) ActiveBlock(text string) (shown ActiveBlock, p *call.Problem) {
	b, p := v.Standing(text)
	if p != nil {
		imported, ok := exact(v.reader.ImportedAround(v.reader.Now(), b.Prefix), b.Prefix)
		if !ok {
			return shown, p
		}
		b = imported
	}
	return v.reader.Active([]edgeguard.Block{b})[0], nil
}

// Standing returns the block of exactly a prefix. If there is none, the problem
// names the block that contains the prefix: to unblock an address of a blocked
// network, an operator has to decide about the network. The block returned with a
// problem has the prefix alone.
func (v *View) Standing(text string) (edgeguard.Block, *call.Problem) {
	prefix, p := call.ParsePrefix("prefix", text)
	if p != nil {
		return edgeguard.Block{}, p
	}
	found, imported := v.reader.Find(v.reader.Now(), prefix), v.reader.ImportedAround(v.reader.Now(), prefix)
	if b, ok := exact(found, prefix); ok {
		return b, nil
	}
	p = call.NewProblem(http.StatusNotFound, "prefix", prefix.String()+" is not blocked", "")
	switch {
	case v.waits(prefix):
		p = call.NewProblem(http.StatusNotFound, "prefix", "the block of "+prefix.String()+" is not in force: it awaits confirmation", "confirm or remove it")
	case len(found) > 0:
		p = call.NewProblem(http.StatusNotFound, "prefix", fmt.Sprintf("there is no block of exactly %s, but one of %s contains it", prefix, found[0].Prefix), "use "+found[0].Prefix.String())
	case len(imported) > 0:
		p = notLifted(&imported[0], prefix)
	}
	return edgeguard.Block{Prefix: prefix}, p
}

// exact finds the block of exactly a prefix among those around it.
func exact(found []edgeguard.Block, prefix netip.Prefix) (edgeguard.Block, bool) {
	for _, b := range found {
		if b.Prefix == prefix {
			return b, true
		}
	}
	return edgeguard.Block{}, false
}
