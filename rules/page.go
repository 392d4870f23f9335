package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// pageTerms is what a cost asks of the page that made a browser send a request: by its
// Referer, and by its Sec-Fetch-Site. A client writes both.
type pageTerms struct {
	need     edgeguard.Field
	own      *Hosts
	referers referer
	sites    []string
}

// referer is a set of what a Referer can be.
type referer uint8

const (
	refererNone referer = 1 << iota
	refererOwn
	refererForeign
	refererSome = refererOwn | refererForeign // there is one: whose it is need not be known
)

var (
	refererNames = []string{"none", "own", "foreign"}
	siteNames    = []string{"cross-site", "same-site", "same-origin", "none"}
)

// leniency is how much less or more a request may cost for what its client wrote.
const leniency = 4

// Hosts are names of hosts, such as those of one's own site.
type Hosts struct {
	term  term
	names []pattern // in the order in which they were given
	first []int     // of each, the first that its text has: itself, unless a pattern before it is of it too
	text  string    // the same for the same names, in any order
}

// ParseHosts reads names as a match has them. The path of a problem is "[i]".
func ParseHosts(names []string) (*Hosts, []Problem) {
	var c compiler
	parts, text := c.patterns("", names, parseHost)
	h := &Hosts{term: newTerm(false, parts, nil), text: text}
	for _, p := range parts {
		h.names = append(h.names, newPattern(p))
		first, _ := h.find(p[0])
		h.first = append(h.first, first)
	}
	return h, c.problems
}

// Which returns which of the names, from 0 in their order, a host as it was sent has: the
// first of several. ok is false for none of them. A nil Hosts has none.
func (h *Hosts) Which(host string) (i int, ok bool) {
	if h == nil {
		return 0, false
	}
	for i := range h.names { // nearly all hosts are a name, letter for letter
		if p := &h.names[i]; p.tail == nil && p.head == host {
			return h.first[i], true
		}
	}
	if plainHost(host) {
		return h.find(host)
	}
	return h.whichOdd(host)
}

// find returns which of the hosts this one is, which is in normal form.
func (h *Hosts) find(host string) (i int, ok bool) {
	for i := range h.names {
		if p := &h.names[i]; p.begins(host) && p.matchesRest(host) {
			return i, true
		}
	}
	return 0, false
}

// whichOdd finds a host that is not in normal form. The buffer for it is in this function,
// so that other events do not pay for it.
//
//go:noinline
func (h *Hosts) whichOdd(host string) (i int, ok bool) {
	var room [hostRoom]byte
	return h.find(unsafetext.String(normalHost(room[:0], host)))
}

// Name returns the i-th name in normal form.
func (h *Hosts) Name(i int) string { return strings.Join(h.names[i].asGlob(), "*") }

// Len returns how many names there are.
func (h *Hosts) Len() int {
	if h == nil {
		return 0
	}
	return len(h.names)
}

// SameNames reports whether both have the same names in the same order.
func (h *Hosts) SameNames(other *Hosts) bool {
	if h == nil || other == nil {
		return h == other
	}
	return reflect.DeepEqual(h.names, other.names)
}

func (h *Hosts) hasHost(host string) bool {
	if plainHost(host) {
		return h.term.match(host)
	}
	var room [hostRoom]byte
	return h.term.match(unsafetext.String(normalHost(room[:0], host)))
}

// compilePageTerms compiles what the match of a cost asks of the page, nil if it asks nothing, and
// writes it down.
func (c *compiler) compilePageTerms(path string, m *Match, own *Hosts) (*pageTerms, string) {
	if m.Referer == nil && m.FetchSite == nil {
		return nil, ""
	}
	p := &pageTerms{own: own}
	for _, name := range c.choices(path+".referer", m.Referer, refererNames) {
		p.referers |= 1 << slices.Index(refererNames, name)
	}
	p.sites = c.choices(path+".fetch_site", m.FetchSite, siteNames)
	text := ""
	if m.Referer != nil {
		p.need |= edgeguard.FieldReferer
		text += fmt.Sprintf(", referer=%d", p.referers)
		if some := p.referers & refererSome; own != nil && some != 0 && some != refererSome {
			text += " own=" + own.text
		}
	}
	if m.FetchSite != nil {
		p.need |= edgeguard.FieldFetchSite
		text += ", fetch_site=" + strings.Join(p.sites, "|")
	}
	return p, text
}

// choices returns the values in the order of the names, once each.
func (c *compiler) choices(path string, values, names []string) []string {
	c.checkGiven(path, values)
	for i, value := range values {
		if !slices.Contains(names, value) {
			c.problem(itemPath(path, i), flaw{fmt.Sprintf("unknown value %.40q", value), "use " + strings.Join(names, ", ")})
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(values, name) })
}

// match reports whether the page is as the cost says. Nil matches any.
func (p *pageTerms) match(ev *edgeguard.Event) bool {
	return p == nil || ev.Known&p.need == p.need &&
		(p.need&edgeguard.FieldReferer == 0 || p.matchReferer(ev.Referer)) &&
		(p.need&edgeguard.FieldFetchSite == 0 || slices.Contains(p.sites, ev.FetchSite))
}

func (p *pageTerms) matchReferer(from string) bool {
	switch {
	case from == "":
		return p.referers&refererNone != 0
	case p.referers&refererSome == refererSome:
		return true
	case p.own == nil:
		return false
	case p.own.hasHost(addressHost(from)):
		return p.referers&refererOwn != 0
	}
	return p.referers&refererForeign != 0
}

// addressHost returns the host of an address such as a Referer, with its port. That of a text
// that is no address of a page is empty.
func addressHost(from string) string {
	_, rest, ok := strings.Cut(from, "://")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#\\"); end >= 0 {
		rest = rest[:end]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:]
}

// notByPage refuses what a client writes where it would decide whether a request
// counts.
func (c *compiler) notByPage(path string, m *Match) {
	if m == nil {
		return
	}
	said := flaw{"a client writes it, so it cannot decide what counts", "use it in the match of a cost, which it changes up to 4 times"}
	if m.Referer != nil {
		c.problem(path+".referer", said)
	}
	if m.FetchSite != nil {
		c.problem(path+".fetch_site", said)
	}
}

// checkLenient holds costs by page near those that follow: a client that writes such
// a header must not get away with next to nothing.
func (c *compiler) checkLenient(m *Meter) {
	for i := range m.charges {
		if m.charges[i].page == nil {
			continue
		}
		cost := uint32(m.charges[i].cost)
		after := []uint32{uint32(m.cost)}
		for _, next := range m.charges[i+1:] {
			after = append(after, uint32(next.cost))
		}
		for _, next := range after {
			if cost*leniency < next || next*leniency < cost {
				c.problem(fmt.Sprintf("cost[%d].cost", i), flaw{
					fmt.Sprintf("%d by a header that clients write, and %d without", cost, next),
					fmt.Sprintf("let them differ by at most %d times", leniency),
				})
				break
			}
		}
	}
}
