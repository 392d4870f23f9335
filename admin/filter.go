package admin

import (
	"net/http"
	"strconv"
	"time"

	"edgeguard/admin/listing"
)

// ReadFilter reads the parameters of a list of blocks.
func ReadFilter(r *http.Request) (f listing.Filter, limit int, p *Problem) {
	q, p := readQuery(r, "rule", "origin", "prefix", "contains", "family", "made_by", "proxied", "since_after", "order", "limit", "cursor")
	if p != nil {
		return f, 0, p
	}
	f = listing.Filter{Rule: q["rule"], Origin: q["origin"], Family: q["family"], MadeBy: q["made_by"], Newest: q["order"] == "newest"}
	for _, word := range [][]string{{"family", "ipv4", "ipv6"}, {"made_by", listing.Local, listing.Manual, listing.Fleet}, {"proxied", "true", "false"}, {"order", "prefix", "newest"}} {
		if p := q.oneOf(word[0], word[1:]...); p != nil {
			return f, 0, p
		}
	}
	if text, given := q["proxied"]; given {
		yes := text == "true"
		f.Proxied = &yes
	}
	if p := readPlaces(q, &f); p != nil {
		return f, 0, p
	}
	limit, p = q.limit()
	return f, limit, p
}

// readPlaces reads the parameters that are addresses, prefixes and times.
func readPlaces(q query, f *listing.Filter) (p *Problem) {
	if f.Within, p = q.prefix("prefix"); p != nil {
		return p
	}
	if text, given := q["contains"]; given {
		if f.Contains, p = parseAddr("contains", text); p != nil {
			return p
		}
	}
	if text, given := q["since_after"]; given {
		var err error
		if f.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return problem(http.StatusBadRequest, "since_after", strconv.Quote(clip(text))+" is not a time", "use 2026-03-01T12:00:00Z")
		}
	}
	if text, given := q["cursor"]; given {
		prefix, err := f.ReadCursor(text)
		if err != nil {
			return problem(http.StatusBadRequest, "cursor", strconv.Quote(clip(text))+" is not a cursor of this order", "use next of the previous page")
		}
		f.After.Prefix, p = parsePrefix("cursor", prefix)
	}
	return p
}
