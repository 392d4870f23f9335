package admin

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin/call"
	"edgeguard/blocklist"
)

// MostLifted is how many blocks one request lifts.
const MostLifted = 100_000

// everyBlock are the words of a selection that leaves out none.
const everyBlock = "all blocks"

// Selection says which of the node's blocks one change lifts: those that match all of it. The
// zero one is all blocks.
type Selection struct {
	// BlockFilter is what a list is asked for. Its order and place say nothing here.
	BlockFilter
	// Rules and Prefixes are only blocks by one of these rules, of exactly one of these prefixes.
	// Nil says nothing.
	Rules    []string
	Prefixes []netip.Prefix
	// Allow says that allowances are meant, and no blocks.
	Allow bool
	// Attack is the ID of the attack whose blocks they are.
	Attack string
	// Seen is when somebody saw what matches: only blocks that were made until then. Zero is now.
	Seen time.Time
}

// ReadAllowances reads the parameters of a selection of allowances, which is a batch.
func ReadAllowances(r *http.Request, others ...string) (s Selection, q call.Query, p *call.Problem) {
	s.Allow = true
	if q, p = call.ReadQuery(r, append(others, "batch")...); p == nil {
		s.Batch, p = readBatch(q["batch"])
	}
	if p == nil && s.Batch == 0 {
		p = call.NewProblem(http.StatusBadRequest, "batch", "is missing", "name the batch of an import")
	}
	return s, q, p
}

// ReadSelection reads the parameters of a selection, and others by their names. One of a selection
// has to be given, so that no slip lifts everything.
func ReadSelection(r *http.Request, others ...string) (s Selection, q call.Query, p *call.Problem) {
	if q, p = call.ReadQuery(r, slices.Concat(filterNames, []string{"attack", "seen", "all"}, others)...); p != nil {
		return s, q, p
	}
	if s.BlockFilter, p = readFilter(q); p != nil {
		return s, q, p
	}
	if s.Seen, p = q.Time("seen"); p != nil {
		return s, q, p
	}
	s.Attack = q["attack"]
	given := s.Attack != "" || slices.ContainsFunc(filterNames, func(name string) bool { return q[name] != "" })
	if p = q.OneOf("all", "true"); p == nil && !given && q["all"] == "" {
		p = call.NewProblem(http.StatusBadRequest, "rule", "is missing, and every other word that says which blocks are lifted", "name a rule, an owner, a prefix or another filter, or set all=true")
	}
	return s, q, p
}

// String says in words which blocks these are: the target of an audit's record.
func (s *Selection) String() string {
	var parts []string
	say := func(given bool, text string) {
		if given {
			parts = append(parts, text)
		}
	}
	all := s.Rules
	if s.Rule != "" {
		all = append(slices.Clone(all), s.Rule)
	}
	say(len(all) > 0, "of "+strings.Join(all, ", "))
	say(s.Origin != "", "made by "+s.Origin)
	say(s.MadeBy != "", "made "+s.MadeBy)
	say(s.Family != "", s.Family)
	say(s.Batch != 0, "of batch "+s.Batch.String())
	say(s.Proxied != nil, "proxied or not")
	say(s.Within.IsValid(), "inside "+s.Within.String())
	say(s.Contains.IsValid(), "that contain "+s.Contains.String())
	say(!s.Since.IsZero(), "since "+s.Since.UTC().Format(time.RFC3339))
	say(s.Attack != "", "of the attack "+s.Attack)
	say(s.Attack == "" && len(s.Prefixes) > 0, "chosen one by one")
	if len(parts) == 0 {
		return everyBlock
	}
	if s.Allow {
		return "allowances " + strings.Join(parts, ", ")
	}
	return "blocks " + strings.Join(parts, ", ")
}

// Action returns what the audit calls a change that takes these back.
func (s *Selection) Action() string {
	if s.Allow {
		return disallowMany
	}
	return unblockMany
}

// IsAll reports whether nothing is left out.
func (s *Selection) IsAll() bool { return s.String() == everyBlock }

// has reports whether a block is one of them. node is this node.
func (s *Selection) has(b *edgeguard.Block, node string) bool {
	f := s.BlockFilter
	f.Node, f.After = node, ListPosition{}
	return f.wants(b) && (s.Rules == nil || slices.Contains(s.Rules, b.Rule)) &&
		(!f.Contains.IsValid() || b.Prefix.Contains(f.Contains)) &&
		(s.Prefixes == nil || s.isChosen(b.Prefix))
}

// isChosen reports whether a prefix is one of Prefixes, which are in order.
func (s *Selection) isChosen(p netip.Prefix) bool {
	_, found := slices.BinarySearchFunc(s.Prefixes, p, netip.Prefix.Compare)
	return found
}

// selected returns the blocks of a selection, at most most of them; more says that there are
// others. It looks at no more blocks than it has to, and at each as it is now.
func (v *View) selected(s *Selection, most int) (all []edgeguard.Block, more bool) {
	now, node := v.reader.Now(), v.events.node
	add := func(b *edgeguard.Block) bool {
		if !s.has(b, node) || !s.Seen.IsZero() && b.Since.After(s.Seen) {
			return true
		}
		if more = len(all) == most; !more {
			all = append(all, *b)
		}
		return !more
	}
	if s.Allow {
		for b := range v.reader.Allowances(now) {
			if !add(&b) {
				break
			}
		}
		return all, more
	}
	if s.Prefixes != nil {
		s.Prefixes = slices.Compact(slices.SortedFunc(slices.Values(s.Prefixes), netip.Prefix.Compare))
		for _, p := range s.Prefixes {
			if b, ok := v.reader.Exact(now, p); ok && !add(&b) {
				break
			}
		}
		return all, more
	}
	if s.Rule != "" && !s.Within.IsValid() {
		for b := range v.reader.Newest(now, blocklist.Only{Rule: s.Rule}, blocklist.Place{}) {
			if !add(&b) {
				break
			}
		}
		return all, more
	}
	for b := range v.reader.Blocks(now, s.Within) {
		if s.past(&b) || !add(&b) {
			break
		}
	}
	return all, more
}

// ofAttack makes a selection of an attack one of its blocks; false if there is no such attack.
func (v *View) ofAttack(ctx context.Context, s *Selection) (found bool) {
	a, blocks, found := v.lookAt(ctx, s.Attack, netip.Prefix{}, 0)
	s.Rules, s.Prefixes = a.Rules, []netip.Prefix{}
	for _, b := range blocks {
		s.Prefixes = append(s.Prefixes, b.Prefix)
	}
	return found
}
