package console

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/blocklist"
	"edgeguard/internal/words"
)

const (
	// foundLength is how many of each sort the page shows.
	foundLength = 50
	// mostSearched is how many blocks are looked at, the newest first; of as many as mostAsked their
	// requests are, and as many changes.
	mostSearched, mostAsked = 100_000, 1000
)

// foundPage is what has a text that is searched, and is not the name of one thing alone.
type foundPage struct {
	frame
	Asked   string
	Rules   []link
	Blocks  blockTable
	Allowed []link
	Changes []happening
	Looked  string // at how many blocks, where there are more
}

// find sends a browser to what it searches: an address, the beginning of one, a network or a rule. For
// another text it shows what has it.
func (p *blockHandlers) find(w http.ResponseWriter, r *http.Request) (string, any) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if addr, err := netip.ParseAddr(pasted(text)); err == nil && addr.Zone() == "" {
		http.Redirect(w, r, "/address/"+addr.Unmap().String(), http.StatusSeeOther)
		return "", nil
	}
	if prefix, err := netip.ParsePrefix(pasted(text)); err == nil {
		http.Redirect(w, r, pathOf(prefix.Masked()), http.StatusSeeOther)
		return "", nil
	}
	if rule, found := ruleNamed(p.reader, text); found {
		http.Redirect(w, r, rulePath(rule.Name), http.StatusSeeOther)
		return "", nil
	}
	if prefix, ok := begins(text); ok {
		http.Redirect(w, r, pathOf(prefix), http.StatusSeeOther)
		return "", nil
	}
	if shown := p.search(r, text); shown != nil {
		return "found.html", shown
	}
	return "", &notFound{Text: "Nothing here has “" + text + "”: no address, network, rule or note, and no request that is kept.", Fix: "Try 203.0.113.7, 203.0.113 or a word of a note."}
}

// pasted returns an address or a network without what a log or a mail has around it:
// quotes, brackets, a comma, the client's port.
func pasted(text string) string {
	text = strings.Trim(text, " \t\"'`“”<>(),;.")
	if client, err := netip.ParseAddrPort(text); err == nil {
		return client.Addr().String()
	}
	return strings.Trim(text, "[]")
}

// begins returns the network of the addresses that begin as a text does: 203.0.113, 203.0. or 2001:db8:. Of two
// numbers alone it is not known where in an address they are.
func begins(text string) (netip.Prefix, bool) {
	open := strings.HasSuffix(text, ".") || strings.HasSuffix(text, "*")
	text = strings.TrimRight(text, ".*")
	if n := strings.Count(text, ".") + 1; (n == 3 || n < 3 && open) && strings.Trim(text, "0123456789.") == "" {
		addr, err := netip.ParseAddr(text + strings.Repeat(".0", 4-n))
		return netip.PrefixFrom(addr, 8*n), err == nil
	}
	text = strings.TrimSuffix(text, ":")
	if n := strings.Count(text, ":") + 1; n > 1 && n < 8 && !strings.Contains(text, "::") {
		addr, err := netip.ParseAddr(text + "::")
		return netip.PrefixFrom(addr, 16*n), err == nil && addr.Is6()
	}
	return netip.Prefix{}, false
}

// search returns what has a text; nil if nothing has.
func (p *blockHandlers) search(r *http.Request, text string) *foundPage {
	wanted := strings.ToLower(text)
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), wanted) }
	if wanted == "" {
		return nil
	}
	shown, now := &foundPage{frame: p.frames.of(r, "find", "Search"), Asked: text}, p.reader.Now()
	for _, rule := range p.reader.Rules() {
		if has(rule.Name) {
			shown.Rules = append(shown.Rules, link{Name: rule.Name, Path: rulePath(rule.Name)})
		}
	}
	for b := range p.reader.Allowances(now) {
		if a := admin.NewAllowance(b); (has(a.Reason) || has(shortest(a.Prefix))) && len(shown.Allowed) < foundLength {
			shown.Allowed = append(shown.Allowed, link{Name: shortest(a.Prefix), Path: pathOf(a.Prefix), Count: a.Reason})
		}
	}
	var found []edgeguard.Block
	looked, role := 0, access.CallerOf(r).Role
	for b := range p.reader.Newest(now, blocklist.Only{}, blocklist.Place{}) {
		if looked++; looked > mostSearched || len(found) == foundLength {
			shown.Looked = words.Number(looked - 1)
			break
		}
		if has(b.Reason) || has(shortest(b.Prefix)) || looked <= mostAsked && p.asked(role, b.Prefix, has) {
			found = append(found, b)
		}
	}
	shown.Blocks = blockTable{Heads: plainHeads(), May: shown.May}
	for _, b := range p.reader.Active(found) {
		shown.Blocks.Rows = append(shown.Blocks.Rows, p.row(&shown.frame, now, &b))
	}
	changes := slices.DeleteFunc(p.view.Recent(r.Context(), mostAsked, []string{admin.EventChange}), func(e admin.Event) bool {
		return !has(e.Change.Target) && !has(e.Change.Detail) && !has(e.Change.User)
	})
	shown.Changes = shown.happenings(changes[:min(len(changes), foundLength)])
	if len(shown.Rules)+len(shown.Allowed)+len(found)+len(shown.Changes) == 0 {
		return nil
	}
	return shown
}

// asked reports whether a request that is kept of a prefix has a path or an agent that is wanted, if
// the role may see it.
func (p *blockHandlers) asked(role access.Role, prefix netip.Prefix, has func(string) bool) bool {
	list, problem := p.view.Samples(role, prefix)
	for i := range list.Samples {
		if problem == nil && (has(list.Samples[i].Path) || has(list.Samples[i].Agent)) {
			return true
		}
	}
	return false
}
