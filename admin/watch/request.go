package watch

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"edgeguard/admin/call"
)

const (
	// maxKeys is how many prefixes one stream may watch.
	maxKeys = 100
	// fewSlots is how many slots come with a figure: who missed one has it from
	// the next.
	fewSlots = 3
	maxSlots = 60
)

// Request is what a stream should send: the figures of keys, and events of kinds
// behind an ID; or one message instead.
type Request struct {
	Keys  []Key
	Kinds string // as of the stream of events; empty for none
	After string
	Once  bool
}

// ReadRequest reads a request's parameters. The prefix may be repeated.
func ReadRequest(r *http.Request) (wanted Request, p *call.Problem) {
	fails := func(field, detail, fix string) (Request, *call.Problem) {
		return wanted, call.NewProblem(http.StatusBadRequest, field, detail, fix)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fails("", "invalid query: "+err.Error(), "escape its values")
	}
	prefixes := values["prefix"]
	if len(prefixes) > 1 {
		values["prefix"] = prefixes[:1]
	}
	q, p := call.ReadQuery(&http.Request{URL: &url.URL{RawQuery: values.Encode()}}, "prefix", "rule", "slots", "kind", "after", "once")
	if p == nil {
		p = q.OneOf("once", "true", "false")
	}
	if p != nil {
		return wanted, p
	}
	slots := fewSlots
	if text, given := q["slots"]; given {
		if slots, err = strconv.Atoi(text); err != nil || slots < 1 || slots > maxSlots {
			return fails("slots", strconv.Quote(call.Clip(text))+" is not a number from 1 to 60", "leave it out for the newest three")
		}
	}
	if len(prefixes) > maxKeys {
		return fails("prefix", fmt.Sprintf("%d prefixes, and one stream watches at most %d", len(prefixes), maxKeys), "open a second stream")
	}
	wanted = Request{Keys: []Key{}, Kinds: q["kind"], After: q["after"], Once: q["once"] == "true"}
	for _, text := range prefixes {
		prefix, p := call.ParsePrefix("prefix", text)
		if p != nil {
			return wanted, p
		}
		wanted.Keys = append(wanted.Keys, Key{Prefix: prefix, Rule: q["rule"], Slots: slots})
	}
	return wanted, nil
}
