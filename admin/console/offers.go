package console

import (
	"net/netip"
	"slices"

	"edgeguard/admin"
)

// labels are what the links to the pages of actions say.
var labels = map[string]string{
	"block": "Block", "unblock": "Unblock", "extend": "Change the end", "allow": "Allow", "disallow": "Take back the allowance", "confirm": "Confirm", "withdraw": "Withdraw",
}

// offer returns links to the pages of actions about a prefix, or about one that is
// typed there; none for a caller who may change nothing. Count is the prefix.
func (f *frame) offer(prefix string, names ...string) (all []link) {
	if !f.May {
		return nil
	}
	for _, name := range names {
		one := link{Name: labels[name], Path: actPath(name, prefix, f.Path), Count: prefix}
		if prefix == "" {
			one = link{Name: labels[name] + " by hand", Path: "/" + name}
		}
		all = append(all, one)
	}
	return all
}

// offers returns what can be changed of a prefix as it stands now.
func (f *frame) offers(reader admin.Reader, prefix netip.Prefix) (all []link) {
	if !f.May {
		return nil
	}
	name, now := shortest(prefix), reader.Now()
	if heldRecord(reader, prefix) != nil {
		all = f.offer(name, "confirm", "withdraw")
	}
	if _, ok := allowanceOf(reader, prefix); ok {
		return append(all, f.offer(name, "disallow")...)
	}
	around := reader.Find(now, prefix)
	switch {
	case len(around) > 0 && around[0].Prefix == prefix:
		return append(all, f.offer(name, "unblock", "extend", "allow")...)
	case len(around) > 0:
		outer := shortest(around[0].Prefix)
		all = append(all, link{Name: labels["unblock"] + " " + outer, Path: actPath("unblock", outer, f.Path)})
	case isAllowed(reader, prefix):
		return all
	default:
		all = append(all, f.offer(name, "block")...)
	}
	return append(all, f.offer(name, "allow")...)
}

// heldRecord returns the held record of exactly a prefix; nil if there is none.
func heldRecord(reader admin.Reader, prefix netip.Prefix) *admin.HeldBlock {
	for _, h := range reader.Held() {
		if h.Prefix == prefix {
			return &h
		}
	}
	return nil
}

// allowanceOf returns the allowance of exactly a prefix that was made at run time.
func allowanceOf(reader admin.Reader, prefix netip.Prefix) (admin.Allowance, bool) {
	for b := range reader.Allowances(reader.Now()) {
		if b.Prefix == prefix {
			return admin.NewAllowance(b), true
		}
	}
	return admin.Allowance{}, false
}

// isAllowed reports whether all of a prefix is allowed.
func isAllowed(reader admin.Reader, prefix netip.Prefix) bool {
	inside := func(one netip.Prefix) bool { return one.Bits() <= prefix.Bits() && one.Contains(prefix.Addr()) }
	if slices.ContainsFunc(reader.Allowlist(), inside) {
		return true
	}
	for b := range reader.Allowances(reader.Now()) {
		if inside(b.Prefix) {
			return true
		}
	}
	return false
}
