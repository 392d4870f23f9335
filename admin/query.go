package admin

import (
	"fmt"
	"net/http"
	"strconv"

	"edgeguard"
	"edgeguard/admin/call"
)

// Which blocks a list is asked for, read from the parameters of a request: the
// API's and the pages'.

// ReadBlockFilter reads the parameters of a list of blocks.
func ReadBlockFilter(r *http.Request) (f BlockFilter, limit int, p *call.Problem) {
	q, p := call.ReadQuery(r, "rule", "owner", "origin", "prefix", "contains", "family", "made_by", "proxied", "since_after", "order", "dir", "limit", "cursor")
	if p != nil {
		return f, 0, p
	}
	f = BlockFilter{Rule: q["rule"], Origin: q["origin"], Family: q["family"], MadeBy: q["made_by"], Order: q["order"]}
	for _, word := range [][]string{{"family", "ipv4", "ipv6"}, {"made_by", FromHere, Manual, FromFleet}, {"proxied", "true", "false"}, {"order", ByPrefix, Newest, ByEnd, ByCount}, {"dir", "asc", "desc"}} {
		if p := q.OneOf(word[0], word[1:]...); p != nil {
			return f, 0, p
		}
	}
	if text, given := q["owner"]; given {
		if f.Rule, p = OwnerRule(text, false); p == nil && q["rule"] != "" {
			p = call.NewProblem(http.StatusBadRequest, "owner", "rule and owner are both set", "set one of them")
		}
		if p != nil {
			return f, 0, p
		}
	}
	if f.Order == "" {
		f.Order = ByPrefix
	}
	f.Backwards = q["dir"] != "" && q["dir"] != Orders[f.Order]
	if text, given := q["proxied"]; given {
		yes := text == "true"
		f.Proxied = &yes
	}
	if p := readPlaces(q, &f); p != nil {
		return f, 0, p
	}
	limit, p = q.Limit()
	return f, limit, p
}

// OwnerRule returns the Rule of an owner's blocks, and without an owner that of an
// operator's. An owner cannot force.
func OwnerRule(owner string, force bool) (string, *call.Problem) {
	switch {
	case owner == "":
		return edgeguard.ManualRule, nil
	case !edgeguard.ValidOwner(owner):
		return "", call.NewProblem(http.StatusBadRequest, "owner", strconv.Quote(call.Clip(owner))+" is not a name of an owner", fmt.Sprintf("use at most %d of a-z, A-Z, 0-9, dot, hyphen and underscore", edgeguard.MaxOwner))
	case force:
		return "", call.NewProblem(http.StatusBadRequest, "force", "an owner cannot force a block", "leave out force or the owner")
	}
	return edgeguard.OwnerRule(owner), nil
}

// readPlaces reads the parameters that are addresses, prefixes and times.
func readPlaces(q call.Query, f *BlockFilter) (p *call.Problem) {
	if f.Within, p = q.Prefix("prefix"); p != nil {
		return p
	}
	if text, given := q["contains"]; given {
		if f.Contains, p = call.ParseAddr("contains", text); p != nil {
			return p
		}
	}
	if f.Since, p = q.Time("since_after"); p != nil {
		return p
	}
	if text, given := q["cursor"]; given {
		prefix, err := f.ReadCursor(text)
		if err != nil {
			return call.NewProblem(http.StatusBadRequest, "cursor", strconv.Quote(call.Clip(text))+" is not a cursor of this order", "use next of the previous page")
		}
		f.After.Prefix, p = call.ParsePrefix("cursor", prefix)
	}
	return p
}
