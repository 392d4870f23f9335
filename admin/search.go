package admin

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/blocklist"
)

const (
	// mostFound is how many of each sort a search returns.
	mostFound = 50
	// mostSearched is how many blocks are looked at, the newest first; of mostAsked their requests are, and
	// as many changes.
	mostSearched, mostAsked = 100_000, 1000
)

// Found is what has a text.
type Found struct {
	Rules      []string
	Blocks     []ActiveBlock
	Allowances []Allowance
	Changes    []Event
	// Looked is at how many blocks, the newest first; 0 for all.
	Looked int
}

// Search returns what has a text in its name, address or note, and the blocks of which a request that
// is kept, and that the role may see, has it in its path or agent. Letters' case does not matter.
func (v *View) Search(ctx context.Context, role access.Role, text string) (found Found) {
	wanted, now := strings.ToLower(text), v.reader.Now()
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), wanted) }
	if wanted == "" {
		return found
	}
	for _, rule := range v.reader.Rules() {
		if has(rule.Name) {
			found.Rules = append(found.Rules, rule.Name)
		}
	}
	for b := range v.reader.Allowances(now) {
		if (has(b.Reason) || has(b.Prefix.String())) && len(found.Allowances) < mostFound {
			found.Allowances = append(found.Allowances, NewAllowance(b))
		}
	}
	var blocks []edgeguard.Block
	looked := 0
	for b := range v.reader.Newest(now, blocklist.Only{}, blocklist.Place{}) {
		if looked == mostSearched || len(blocks) == mostFound || ctx.Err() != nil {
			found.Looked = looked
			break
		}
		if looked++; has(b.Reason) || has(b.Prefix.String()) || looked <= mostAsked && v.asked(role, b.Prefix, has) {
			blocks = append(blocks, b)
		}
	}
	found.Blocks = v.reader.Active(blocks)
	changes := slices.DeleteFunc(v.Recent(ctx, mostAsked, []string{EventChange}), func(e Event) bool {
		return !has(e.Change.Target) && !has(e.Change.Detail) && !has(e.Change.User)
	})
	found.Changes = changes[:min(len(changes), mostFound)]
	return found
}

// asked reports whether a request that is kept of a prefix has a path or an agent that is wanted.
func (v *View) asked(role access.Role, prefix netip.Prefix, has func(string) bool) bool {
	list, problem := v.Samples(role, prefix)
	return problem == nil && slices.ContainsFunc(list.Samples, func(s Sample) bool { return has(s.Path) || has(s.Agent) })
}
