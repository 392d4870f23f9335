package console

import (
	"net/url"
	"strconv"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// listPlace is where in a list of blocks a page is. Its links carry that from page to page: the
// first one alone counts what matches.
type listPlace struct {
	first, of int // how many come before it, and how many match; 0 for not known
	ticked    bool
}

// placeIn takes the place out of a page's query.
func placeIn(query url.Values) (at listPlace) {
	number := func(name string) int {
		n, _ := strconv.Atoi(query.Get(name))
		query.Del(name)
		return max(n, 0)
	}
	at.first, at.of = number("first"), number("of")
	at.ticked = query.Get("ticked") != ""
	query.Del("ticked")
	return at
}

// next returns the query of the page behind one.
func (at listPlace) next(query url.Values, page *admin.BlockPage) url.Values {
	query.Set("cursor", page.Next)
	query.Set("first", strconv.Itoa(at.first+len(page.Blocks)))
	if at.of > 0 {
		query.Set("of", strconv.Itoa(at.of))
	}
	return query
}

// matches says which blocks a page has, and how many match.
func (at listPlace) matches(page *admin.BlockPage, filtered bool) string {
	in, match := words.Number(page.Total)+" in all.", ""
	if filtered {
		match = " that match"
	}
	these := words.Number(at.first+1) + " to " + words.Number(at.first+len(page.Blocks))
	switch n := len(page.Blocks); {
	case n == 0 && page.Looked > 0:
		return "Looked at " + words.Number(page.Looked) + " of " + in[:len(in)-len(" in all.")] + ": go on for more."
	case n == 0 && filtered:
		return "0 of " + words.Number(page.Total) + " match."
	case n == 0:
		return in
	case at.of > 0 && at.first == 0 && n == at.of && !filtered:
		return words.Number(n) + " in all."
	case at.of > 0 && at.first == 0 && n == at.of:
		these = "All " + words.Number(n) + match
		if n == 1 {
			these = "1" + match
		}
	case at.of > 0:
		these += " of " + words.Number(at.of) + match
	case page.MatchedAtLeast > 0:
		these += " of at least " + words.Number(page.MatchedAtLeast) + match
	}
	if !filtered || page.Total < at.of {
		return these + "."
	}
	return these + "; " + in
}

// offerAll offers what is done with all that match, to those who may.
func (p *blockedPage) offerAll(asked url.Values, page *admin.BlockPage, at listPlace) {
	if !p.May || len(page.Blocks) == 0 || page.Blocks[0].Imported {
		return
	}
	p.All = link{Name: "Unblock all that match", Path: manyPath(asked, p.Path)}
	switch {
	case at.of > 0 && p.Filtered:
		p.All.Name = "Unblock all " + words.Number(at.of) + " that match"
	case at.of > 0:
		p.All.Name = "Unblock all " + words.Number(at.of)
	}
	if !at.ticked {
		ticked := without(asked, "limit")
		ticked.Set("ticked", "all")
		p.Tick = "/blocked?" + ticked.Encode()
	}
}
