package lapi

import (
	"net/netip"
	"net/url"
	"strings"
)

// origin is who made all decisions: bouncers make a set for each origin.
const origin = "edgeguard"

// The scopes and the kind of all decisions.
const (
	scopeIP    = "Ip"
	scopeRange = "Range"
	ban        = "ban"
)

// scenarioOf returns what a bouncer is told as the scenario.
func scenarioOf(rule string) string { return origin + "/" + rule }

// mostItems is how many items a list of a query may have: each costs a look at each
// decision.
const mostItems = 64

// filter is which decisions a bouncer asks for.
type filter struct {
	none             bool // nothing that there can be
	singles, ranges  bool
	containing, lack []string // parts of scenarios, in small letters
	inside           netip.Prefix
	exact            netip.Prefix
}

// readFilter reads a query. ok is false where it has too many items.
func readFilter(q url.Values) (f filter, ok bool) {
	f = filter{singles: true, ranges: true}
	for _, name := range []string{"scopes", "scope", "origins", "scenarios_containing", "scenarios_not_containing"} {
		if strings.Count(q.Get(name), ",") >= mostItems {
			return f, false
		}
	}
	for _, name := range []string{"scopes", "scope"} {
		if q.Has(name) {
			f.singles, f.ranges = f.singles && has(q.Get(name), scopeIP), f.ranges && has(q.Get(name), scopeRange)
		}
	}
	f.none = q.Has("origins") && !has(q.Get("origins"), origin) || q.Has("type") && q.Get("type") != ban
	f.containing, f.lack = parts(q.Get("scenarios_containing")), parts(q.Get("scenarios_not_containing"))
	if q.Has("value") {
		f.exact, ok = prefixOf(q.Get("value"))
		f.none = f.none || !ok
	}
	return f, true
}

// has reports whether a list has a word, in letters of any size.
func has(list, word string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(one), word) {
			return true
		}
	}
	return false
}

// parts returns the items of a list in small letters.
func parts(list string) (all []string) {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, strings.ToLower(one))
		}
	}
	return all
}

// prefixOf reads an address or a prefix.
func prefixOf(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return p, false
	}
	return p.Masked(), true
}

// passes reports whether a decision is asked for.
func (f *filter) passes(c *Change) bool {
	single := c.Prefix.IsSingleIP()
	switch {
	case f.none, single && !f.singles, !single && !f.ranges:
		return false
	case f.exact.IsValid() && f.exact != c.Prefix:
		return false
	case f.inside.IsValid() && (c.Prefix.Bits() < f.inside.Bits() || !f.inside.Contains(c.Prefix.Addr())):
		return false
	case len(f.containing) == 0 && len(f.lack) == 0:
		return true
	}
	scenario := strings.ToLower(scenarioOf(c.Rule))
	return (len(f.containing) == 0 || anyOf(f.containing, scenario)) && !anyOf(f.lack, scenario)
}

func anyOf(parts []string, text string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
