package console

import (
	"net/http"
	"net/netip"
	"strings"

	"edgeguard/admin/access"
	"edgeguard/internal/words"
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
	found, now := p.view.Search(r.Context(), access.CallerOf(r).Role, text), p.reader.Now()
	if len(found.Rules)+len(found.Allowances)+len(found.Blocks)+len(found.Changes) == 0 {
		return nil
	}
	shown := &foundPage{frame: p.frames.of(r, "find", "Search"), Asked: text, Blocks: blockTable{Heads: plainHeads()}}
	shown.Blocks.May, shown.Changes = shown.May, shown.happenings(found.Changes)
	if found.Looked > 0 {
		shown.Looked = words.Number(found.Looked)
	}
	for _, name := range found.Rules {
		shown.Rules = append(shown.Rules, link{Name: name, Path: rulePath(name)})
	}
	for _, a := range found.Allowances {
		shown.Allowed = append(shown.Allowed, link{Name: shortest(a.Prefix), Path: pathOf(a.Prefix), Count: a.Reason})
	}
	for i := range found.Blocks {
		shown.Blocks.Rows = append(shown.Blocks.Rows, p.row(&shown.frame, now, &found.Blocks[i]))
	}
	return shown
}
