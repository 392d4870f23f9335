package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// groupPage is many blocks that are one thing to an operator: those of a network, or of an attack.
type groupPage struct {
	frame
	Crumb, Name string
	Attack      bool
	Whole       bool // a block is of exactly the network
	Says        []clause
	Acts        []link
	All         link // unblocks all of them; its Name is empty where there are none
	Chart       *timeChart
	Lists       []listLine
	Around      blockTable // of a network
	Members     blockTable
	Others      blockTable // inside a network, of imported lists
	Networks    []memberRow
	Crowd       *crowdShown
	Grown       string // the networks that are not listed
	Asked       []pastRequest
	Foot        string
	First       string
	Older       string
}

// memberRow is a network of an attack.
type memberRow struct {
	Name, Path, Refused string
	Began               moment
}

const (
	// networkLength is how many blocks of imported lists the page of a network shows.
	networkLength = 100
	// mostSummed is how many blocks of a network are looked at for its sums.
	mostSummed = 100_000
	// mostRequests is how many requests of members a page shows.
	mostRequests = 20
)

func (p *blockHandlers) network(w http.ResponseWriter, r *http.Request) (string, any) {
	prefix, err := netip.ParsePrefix(r.PathValue("prefix"))
	if err != nil {
		return "", &notFound{Text: r.PathValue("prefix") + " is not a network.", Fix: "Try 203.0.113.0/24 or 2001:db8::/64."}
	}
	if prefix.IsSingleIP() || prefix != prefix.Masked() {
		http.Redirect(w, r, pathOf(prefix.Masked()), http.StatusSeeOther)
		return "", nil
	}
	shown, now := &groupPage{frame: p.frames.of(r, "network", prefix.String()), Crumb: "network", Name: prefix.String()}, p.reader.Now()
	shown.Acts = shown.offers(p.reader, prefix)
	query := r.URL.Query()
	place := placeIn(query)
	asked := url.Values{"prefix": {prefix.String()}, "limit": {pageLength}}
	if cursor := query.Get("cursor"); cursor != "" {
		asked.Set("cursor", cursor)
	}
	filter, limit, problem := admin.ReadBlockFilter(&http.Request{URL: &url.URL{RawQuery: asked.Encode()}})
	if problem != nil {
		return "", &notFound{Text: "This page of the list is gone.", Fix: "Begin with the network's first page."}
	}
	page := p.view.BlockPage(r.Context(), filter, limit)
	if page.Matched != nil {
		place.of = *page.Matched
	}
	shown.Says = p.sumOf(prefix, now, shown.Monitor)
	p.fillMembers(r, shown, page.Blocks, now)
	shown.Foot = place.matches(&admin.BlockPage{Blocks: page.Blocks, Total: place.of, MatchedAtLeast: page.MatchedAtLeast}, false)
	if page.Next != "" {
		shown.Older = "?" + place.next(url.Values{}, &page).Encode()
	}
	if place.first > 0 {
		shown.First = pathOf(prefix)
	}
	if len(page.Blocks) > 0 {
		shown.offerAll(url.Values{"prefix": {prefix.String()}}, place.of)
	}
	for _, b := range p.reader.Active(append(p.reader.Find(now, prefix), p.reader.ImportedAround(now, prefix)...)) {
		if shown.Whole = shown.Whole || b.Prefix == prefix; b.Prefix != prefix || b.Imported {
			shown.Around.Rows = append(shown.Around.Rows, p.row(&shown.frame, now, &b))
		}
	}
	p.fillImported(shown, prefix, now)
	return "group.html", shown
}

// offerAll offers to unblock all members to those who may.
func (g *groupPage) offerAll(of url.Values, n int) {
	if !g.May {
		return
	}
	g.All = link{Name: "Unblock all", Path: manyPath(of, g.Path)}
	if n == 1 {
		g.All.Name = "Unblock its one block"
	} else if n > 0 {
		g.All.Name = "Unblock all " + words.Number(n)
	}
}

// fillMembers fills in a page of members and what these asked for.
func (p *blockHandlers) fillMembers(r *http.Request, shown *groupPage, blocks []admin.ActiveBlock, now time.Time) {
	shown.Lists = newListLines(&shown.stats)
	shown.Around.Heads, shown.Members.Heads, shown.Others.Heads = plainHeads(), plainHeads(), plainHeads()
	shown.Around.May, shown.Members.May, shown.Others.May = shown.May, shown.May, shown.May
	shown.Members.Ticks = shown.May
	var all []admin.Sample
	for i := range blocks {
		shown.Members.Rows = append(shown.Members.Rows, p.row(&shown.frame, now, &blocks[i]))
		list, _ := p.view.Samples(access.CallerOf(r).Role, blocks[i].Prefix)
		all = append(all, list.Samples...)
	}
	shown.ask(all, now)
}

// ask shows the newest of requests.
func (g *groupPage) ask(all []admin.Sample, now time.Time) {
	slices.SortStableFunc(all, func(a, b admin.Sample) int { return b.Time.Compare(a.Time) })
	for i := range all[:min(len(all), mostRequests)] {
		g.Asked = append(g.Asked, newPastRequest(&all[i], netip.Addr{}, now))
	}
}

// sumOf says what the blocks inside a network are and do together.
func (p *blockHandlers) sumOf(prefix netip.Prefix, now time.Time, monitor bool) []clause {
	rules, n, refused, sending := make(map[string]int), 0, uint64(0), 0
	for b := range p.reader.Blocks(now, prefix) {
		if !prefix.Contains(b.Prefix.Addr()) || n == mostSummed {
			break
		}
		if b.Prefix.Bits() < prefix.Bits() {
			continue
		}
		n, rules[b.Rule] = n+1, rules[b.Rule]+1
		count, last := p.reader.Refusals(b.Prefix)
		if refused += uint64(count); count > 0 && now.Sub(last) < stillSends {
			sending++
		}
	}
	if n == 0 {
		return []clause{{"Nothing inside it is blocked.", true}}
	}
	strong := words.Plural(n, "block", "blocks")
	if n == mostSummed {
		strong = "At least " + strong
	}
	be := map[bool]string{true: "would be", false: "are"}[monitor]
	return []clause{{strong + ", " + byRules(rules), true},
		{fmt.Sprintf(". %s of their events %s denied here; %s", words.Number(refused), be, sendsStill(sending)), false}}
}

// sendsStill says how many send still.
func sendsStill(n int) string {
	if n == 0 {
		return "none of them sends still."
	}
	return words.Plural(n, "sends", "send") + " still."
}

// byRules says how many blocks each rule made, the most first.
func byRules(rules map[string]int) string {
	var by []string
	for _, rule := range slices.SortedFunc(maps.Keys(rules), func(x, y string) int {
		return cmp.Or(cmp.Compare(rules[y], rules[x]), cmp.Compare(x, y))
	}) {
		by = append(by, fmt.Sprintf("%s by %s", words.Number(rules[rule]), makerOf(rule)))
	}
	return strings.Join(by, ", ")
}

// fillImported fills in what imported lists block inside a network.
func (p *blockHandlers) fillImported(shown *groupPage, prefix netip.Prefix, now time.Time) {
	var inside []edgeguard.Block
	for _, l := range p.reader.Imports().Feeds {
		others, ok := p.reader.ImportedBy(now, edgeguard.OwnerRule(l.Name), prefix)
		if !ok {
			continue
		}
		for b := range others {
			if !prefix.Contains(b.Prefix.Addr()) || b.Prefix.Bits() < prefix.Bits() || len(inside) == networkLength {
				break
			}
			if b.Prefix != prefix {
				inside = append(inside, b)
			}
		}
		break // they are of all lists
	}
	for _, b := range p.reader.Active(inside) {
		shown.Others.Rows = append(shown.Others.Rows, p.row(&shown.frame, now, &b))
	}
}

func (p *blockHandlers) attack(w http.ResponseWriter, r *http.Request) (string, any) {
	id, query, now := r.PathValue("id"), r.URL.Query(), p.reader.Now()
	place := placeIn(query)
	var after netip.Prefix
	if cursor := query.Get("cursor"); cursor != "" {
		after, _ = call.ParsePrefix("cursor", cursor)
	}
	d, found := p.view.AttackDetail(r.Context(), id, after, 50)
	if !found {
		return "", &notFound{Text: "No such attack is known.", Fix: "Those that ended long ago are forgotten."}
	}
	if d.Into != "" {
		http.Redirect(w, r, attackPath(d.Into), http.StatusSeeOther)
		return "", nil
	}
	shown := &groupPage{frame: p.frames.of(r, "attack", attackName(&d.Attack)), Crumb: "attack", Name: attackName(&d.Attack), Attack: true}
	shown.Says = attackSays(&d.Attack, now, shown.Monitor)
	shown.Chart = p.chartOfAttack(r, shown, &d.Attack, now)
	p.fillMembers(r, shown, d.Active, now)
	place.of = d.Blocks
	shown.Foot = place.matches(&admin.BlockPage{Blocks: d.Active, Total: d.Blocks}, false)
	if d.Next != "" {
		shown.Older = "?" + place.next(url.Values{}, &admin.BlockPage{Blocks: d.Active, Next: d.Next}).Encode()
	}
	if place.first > 0 {
		shown.First = attackPath(id)
	}
	if len(d.Active) > 0 {
		shown.offerAll(url.Values{"attack": {id}}, d.Blocks)
	}
	if d.Crowd != nil {
		p.fillCrowd(r, shown, &d, now)
	}
	if d.NetworkCount == 1 {
		shown.Acts = shown.offers(p.reader, d.Networks[0])
	}
	for i := range d.Members {
		m := &d.Members[i]
		shown.Networks = append(shown.Networks, memberRow{shortest(m.Network), pathOf(m.Network), words.Number(m.Refused), at(m.Began, now)})
	}
	if more := d.NetworkCount - len(d.Members); more > 0 {
		shown.Grown = words.Number(more) + " more networks, of which less was refused, are not listed."
	}
	return "group.html", shown
}

// crowdShown is what the page of an attack has of a crowd.
type crowdShown struct {
	*admin.Crowd
	Agents []crowdAgent
	Rows   []comerRow
}

type crowdAgent struct{ Agent, Share string }

// comerRow is a member of a crowd.
type comerRow struct {
	Name, Path, Did string
	Since           moment
	Customer        bool
}

// fillCrowd fills in who came to a crowd, a page of them, and some of their requests.
func (p *blockHandlers) fillCrowd(r *http.Request, shown *groupPage, d *admin.AttackDetail, now time.Time) {
	c := &crowdShown{Crowd: d.Crowd}
	for _, a := range d.Crowd.Agents {
		c.Agents = append(c.Agents, crowdAgent{a.Agent, words.PercentShare(a.Share)})
	}
	var all []admin.Sample
	for i := range d.Comers {
		m := &d.Comers[i]
		c.Rows = append(c.Rows, comerRow{shortest(m.Prefix), pathOf(m.Prefix), m.Did(), at(m.Since, now), m.MayBeCustomer})
		list, _ := p.view.Samples(access.CallerOf(r).Role, m.Prefix)
		all = append(all, list.Samples...)
	}
	shown.ask(all, now)
	if shown.Crowd, shown.Foot = c, ""; shown.May && len(c.Rows) > 0 {
		shown.Acts = append(shown.Acts, link{Name: "Block these", Path: crowdPath(d.ID, attackPath(d.ID))})
	}
}

// attackPath returns the page of an attack.
func attackPath(id string) string { return "/attacks/" + url.PathEscape(id) }

// attackName names an attack.
func attackName(a *admin.Attack) string {
	if a.Crowd != nil {
		return a.Crowd.Says
	}
	if a.NetworkCount == 1 {
		return shortest(a.Networks[0])
	}
	return words.Number(a.NetworkCount) + " networks"
}

// attackSays says what an attack is.
func attackSays(a *admin.Attack, now time.Time, monitor bool) []clause {
	be := map[bool]string{true: "would be", false: "are"}[monitor || a.Watched]
	from := words.Plural(a.Addresses, "address", "addresses") + " of " + attackName(a)
	ends := "It goes on."
	if !a.GoesOn() {
		ends = "It ended at " + at(a.Ended, now).Clock + "."
	}
	all := []clause{{fmt.Sprintf("%s over %s since %s. %s", from, strings.Join(a.Rules, ", "), at(a.Began, now).Clock, ends), true},
		{fmt.Sprintf(" %s events %s refused by its blocks, and %s in force.", words.Number(a.Refused), be, words.Plural(a.Blocks, "block is", "blocks are")), false}}
	if a.Crowd != nil {
		all = []clause{{fmt.Sprintf("%s, by rule %s, since %s. %s", upper(a.Crowd.Says), a.Rules[0], at(a.Began, now).Clock, ends), true},
			{fmt.Sprintf(" The limit is %s. %s. edgeguard blocks none of them by itself.", a.Crowd.Unit.Amount(a.Crowd.Limit), cmp.Or(upper(a.Crowd.SaysWho()), "Who came is not known")), false}}
	}
	if a.NetworkCount > 1 {
		all = append(all, clause{" Its networks went over the same rule at the same time, and may have nothing else in common.", false})
	}
	if a.Watched {
		all = append(all, clause{" All its rules are in shadow.", false})
	}
	if a.Denied {
		all = append(all, clause{" What a rule refuses that blocks nobody is known of the rule alone, and is not in the number.", false})
	}
	if len(a.Silent) > 0 {
		all = append(all, clause{" The figures of " + strings.Join(a.Silent, ", ") + " are missing.", false})
	}
	return all
}

// chartOfAttack returns what the node did while the attack went on, unless another time is asked for.
func (p *blockHandlers) chartOfAttack(r *http.Request, shown *groupPage, a *admin.Attack, now time.Time) *timeChart {
	if q := r.URL.Query(); q.Has("last") || q.Has("from") || a.GoesOn() && now.Sub(a.Began) < time.Hour {
		return chartOf(p.view, r, &shown.frame)
	}
	q := r.URL.Query()
	q.Set("from", a.Began.Add(-10*time.Minute).UTC().Format(time.RFC3339))
	q.Set("until", cmp.Or(a.Ended, now).UTC().Format(time.RFC3339))
	then := r.Clone(context.WithoutCancel(r.Context()))
	then.URL.RawQuery = q.Encode()
	return chartOf(p.view, then, &shown.frame)
}
