package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"edgeguard"
	"edgeguard/admin/call"
)

// Which blocks a list is asked for, read from the parameters of a request: the
// API's and the pages'.

// filterNames are the parameters that say which blocks are meant.
var filterNames = []string{"rule", "owner", "origin", "prefix", "contains", "family", "made_by", "proxied", "since_after", "batch"}

// ReadBlockFilter reads the parameters of a list of blocks.
func ReadBlockFilter(r *http.Request) (f BlockFilter, limit int, p *call.Problem) {
	q, p := call.ReadQuery(r, slices.Concat(filterNames, []string{"order", "dir", "limit", "cursor"})...)
	if p != nil {
		return f, 0, p
	}
	if f, p = readFilter(q); p != nil {
		return f, 0, p
	}
	for _, word := range [][]string{{"order", ByPrefix, Newest, ByEnd, ByCount, ByRefused, ByLastRefused}, {"dir", "asc", "desc"}} {
		if p := q.OneOf(word[0], word[1:]...); p != nil {
			return f, 0, p
		}
	}
	f.Order = cmp.Or(q["order"], ByPrefix)
	f.Backwards = q["dir"] != "" && q["dir"] != Orders[f.Order]
	if text, given := q["cursor"]; given {
		prefix, err := f.ReadCursor(text)
		if err != nil {
			return f, 0, call.NewProblem(http.StatusBadRequest, "cursor", strconv.Quote(call.Clip(text))+" is not a cursor of this order", "use next of the previous page")
		}
		if f.After.Prefix, p = call.ParsePrefix("cursor", prefix); p != nil {
			return f, 0, p
		}
	}
	limit, p = q.Limit()
	return f, limit, p
}

// readFilter reads which blocks are meant.
func readFilter(q call.Query) (f BlockFilter, p *call.Problem) {
	f = BlockFilter{Rule: q["rule"], Origin: q["origin"], Family: q["family"], MadeBy: q["made_by"]}
	for _, word := range [][]string{{"family", "ipv4", "ipv6"}, {"made_by", FromHere, Manual, FromFleet}, {"proxied", "true", "false"}} {
		if p := q.OneOf(word[0], word[1:]...); p != nil {
			return f, p
		}
	}
	if text, given := q["owner"]; given {
		if f.Rule, p = OwnerRule(text, false); p == nil && q["rule"] != "" {
			p = call.NewProblem(http.StatusBadRequest, "owner", "rule and owner are both set", "set one of them")
		}
		if p != nil {
			return f, p
		}
	}
	if text, given := q["proxied"]; given {
		yes := text == "true"
		f.Proxied = &yes
	}
	if f.Batch, p = readBatch(q["batch"]); p != nil {
		return f, p
	}
	return f, readPlaces(q, &f)
}

// readBatch reads the name of a batch, or nothing.
func readBatch(text string) (edgeguard.BatchID, *call.Problem) {
	b, ok := edgeguard.ParseBatchID(text)
	if text != "" && !ok {
		return 0, call.NewProblem(http.StatusBadRequest, "batch", strconv.Quote(call.Clip(text))+" is not a name of a batch", "use one that an import printed: see the changes")
	}
	return b, nil
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
	f.Since, p = q.Time("since_after")
	return p
}
