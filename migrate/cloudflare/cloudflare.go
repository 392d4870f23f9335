// Package cloudflare reads Cloudflare's rate limiting rules as rules of edgeguard.
package cloudflare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/migrate"
)

// fix is how to get what can be read.
const fix = "import the answer of GET /zones/ZONE/rulesets/phases/http_ratelimit/entrypoint"

// Import reads the answer of the API with a ruleset, a ruleset, a list of rules or a rule.
func Import(data []byte) (*migrate.Report, error) {
	list, err := migrate.RulesOf(data, fix, [][2]string{{"cloudflare_", "Terraform"}}, find)
	if err != nil {
		return nil, err
	}
	report := &migrate.Report{From: "Cloudflare", Notes: notes}
	for i, v := range list {
		read(report, v, i)
	}
	return report, nil
}

// notes are what differs for all rules.
var notes = []string{
	"Cloudflare counts in each data center by itself; edgeguard counts over all nodes of a fleet, so the same number is stricter here.",
	"Cloudflare ends at the first rule that refuses a request, and later rules do not count it; here each rule counts all that it matches.",
	migrate.NotePaths, migrate.NoteIPv6,
	"Behind Cloudflare the clients' addresses are in a header: set `trusted_proxies` to Cloudflare's networks, or have your proxy do it.",
	migrate.NoteFields,
}

// find returns the rules of a file.
func find(root *migrate.JSONValue) ([]*migrate.JSONValue, error) {
	if ok, given := root.Field("success").Truth(); given && !ok {
		return nil, errors.New("is an error of the API, and has no rules: " + fix)
	}
	if result := root.Field("result"); result != nil {
		root = result
	}
	switch {
	case root.IsList() && slices.ContainsFunc(root.Items(), func(v *migrate.JSONValue) bool { return v.Field("phase") != nil }):
		return nil, errors.New("is a list of rulesets, without their rules: " + fix)
	case root.IsList():
		return root.Items(), nil
	case root.Field("rules").IsList():
		return root.Field("rules").Items(), nil
	case root.Field("expression") != nil:
		return []*migrate.JSONValue{root}, nil
	case root.Field("phase") != nil:
		return nil, nil // a ruleset without rules
	}
	return nil, errors.New("has no result, rules or expression: " + fix)
}

// rule is one rule of the file.
type rule struct {
	*migrate.Draft
	value  *migrate.JSONValue
	limits *migrate.JSONValue
	// counted is what is counted, and acted what is acted on.
	counted, acted *migrate.Condition
	differ         bool // they are not the same
	status         bool // what is counted depends on the answer
}

func read(report *migrate.Report, v *migrate.JSONValue, i int) {
	name, _ := v.Field("description").Text()
	if name == "" {
		name = fmt.Sprintf("rule-%d", i+1)
	}
	called := fmt.Sprintf("rule %d %q", i+1, name)
	if enabled, given := v.Field("enabled").Truth(); given && !enabled {
		report.Notes = append(report.Notes[:len(report.Notes):len(report.Notes)], called+" is disabled, and not imported.")
		return
	}
	limits := v.Field("ratelimit")
	if v.Field("threshold") != nil && v.Field("match") != nil {
		report.Leave("%s: it is one of the rate limits that Cloudflare had before rulesets", called)
		return
	}
	if limits == nil {
		action, _ := v.Field("action").Text()
		report.Leave("%s: it has no ratelimit, and the action %q", called, action)
		return
	}
	r := &rule{Draft: &migrate.Draft{Called: called}, value: v, limits: limits}
	r.rate()
	r.key()
	r.conditions()
	r.action()
	v.SkipFields("id", "version", "last_updated", "ref", "categories", "logging")
	report.AddRead(r.Draft, v, name)
}

// rate reads how much is allowed in which time.
func (r *rule) rate() {
	if r.limits.Field("score_per_period") != nil || r.limits.Field("score_response_header_name") != nil {
		r.Refuse("score_per_period adds up scores that answers have in a header: edgeguard counts requests (see `cost` in docs/rules.md)")
		return
	}
	period, ok := r.limits.Field("period").Whole(1 << 20)
	requests, given := r.limits.Field("requests_per_period").Whole(1<<31 - 1)
	switch {
	case !ok || !given:
		r.Refuse("period or requests_per_period is not a whole number")
	case period == 0 || period%60 != 0:
		minutes := max(1, (period+30)/60)
		r.Refuse("period %d: a window here is whole minutes. Write a rule of your own: threshold %d in %dm is the same rate, and refuses later who sends all at once",
			period, uint64(requests)*uint64(minutes)*60/uint64(max(period, 1)), minutes)
	}
	if origin, given := r.limits.Field("requests_to_origin").Truth(); given && origin {
		r.Refuse("requests_to_origin counts only what Cloudflare's cache does not answer, which edgeguard does not know")
	}
	r.SetRate(requests, period, fmt.Sprintf("%d requests", requests), "Cloudflare")
}

// named is a characteristic that is the value of a header, a cookie or a parameter.
var named = regexp.MustCompile(`^http\.request\.(headers|cookies|uri\.args)\["([^"\\]+)"\](?:\[0\])?$`)

// kinds are the words here for what is named.
var kinds = map[string]string{"headers": "header", "cookies": "cookie", "uri.args": "query"}

// key reads what is counted together.
func (r *rule) key() {
	address := false
	var with []string
	for _, item := range r.limits.Field("characteristics").Items() {
		text, ok := item.Text()
		switch m := named.FindStringSubmatch(text); {
		case !ok:
			r.Refuse("characteristics has something else than texts")
		case text == "cf.colo.id":
		case text == "ip.src":
			address = true
		case text == "http.host":
			with = append(with, "host")
		case text == "http.request.uri.path":
			with = append(with, "path")
		case text == "http.request.method":
			with = append(with, "method")
		case text == "http.user_agent":
			with = append(with, "agent")
		case text == "http.request.uri.query":
			with = append(with, "query")
		case m != nil && m[1] == "headers" && m[2] == "host":
			with = append(with, "host")
		case m != nil:
			with = append(with, kinds[m[1]]+":"+m[2])
			r.NoteDecision("WARNING: requests without %s are not counted here. Cloudflare counts them together, so limit these by a rule of their own.", with[len(with)-1])
		default:
			r.Refuse("the characteristic %s cannot be part of a key here", text)
		}
	}
	r.Spec.Key.With, r.Spec.Key.Everybody = with, !address
	switch {
	case !address && len(with) == 0:
		r.NoteDecision("All clients together, which is address: none.")
	case !address:
		r.NoteDecision("The characteristics have no ip.src: all clients that have the same %s count together, which is address: none.", strings.Join(with, ", "))
	case len(with) > 0:
		r.NoteDecision("Each address together with %s.", strings.Join(with, ", "))
	default:
		r.NoteDecision("Each address.")
	}
}

// conditions reads which requests are counted, and which acted on.
func (r *rule) conditions() {
	expression, ok := r.value.Field("expression").Text()
	if !ok {
		r.Refuse("expression is missing")
		return
	}
	counting, given := r.limits.Field("counting_expression").Text()
	r.acted = r.parse("expression", expression)
	r.counted = r.acted
	if given && counting != "" && strings.TrimSpace(counting) != strings.TrimSpace(expression) {
		r.counted, r.differ = r.parse("counting_expression", counting), true
	}
	if r.counted == nil || r.acted == nil {
		return
	}
	var err error
	if r.Spec.Match, r.Spec.When, err = r.counted.Write(); err != nil {
		r.Refuse("the expression: %v", err)
	}
	r.status = r.counted.UsesField(migrate.Status)
	if r.differ {
		r.NoteDecision("The counting_expression, as match and when: %s", counting)
	}
	if !r.acted.IsAlways() && !r.differ {
		r.NoteDecision("The expression, as match and when: %s", expression)
	}
}

func (r *rule) parse(name, text string) *migrate.Condition {
	n, err := parse(text)
	if err != nil {
		r.Refuse("%s: %v", name, err)
		return nil
	}
	return n
}

// action reads what happens over the limit, and how long.
func (r *rule) action() {
	action, _ := r.value.Field("action").Text()
	seconds := uint32(0)
	if v := r.limits.Field("mitigation_timeout"); v != nil {
		var ok bool
		if seconds, ok = v.Whole(1 << 25); !ok {
			r.Refuse("mitigation_timeout is not a whole number of seconds")
		}
	}
	if parameters := r.value.Field("action_parameters"); parameters.Field("response") != nil && action == "block" {
		parameters.SkipFields("response")
		r.NoteDecision(migrate.NoteResponse)
	}
	switch action {
	case "block":
		r.block(seconds)
	case "log":
		r.Spec.Action = edgeguard.ActionShadow
		r.NoteDecision(migrate.NoteShadow, "log")
		r.noDuration(seconds)
	case "challenge", "js_challenge", "managed_challenge":
		r.deny()
		r.NoteDecision(migrate.NoteChallenge, action)
		r.noDuration(seconds)
	default:
		r.Refuse("the action %q has no meaning in a rule that counts", action)
	}
}

// noDuration says that a duration is not imported.
func (r *rule) noDuration(seconds uint32) {
	if seconds > 0 {
		r.NoteDecision("mitigation_timeout %d is not imported: such a rule acts while the count is over the limit.", seconds)
	}
}

// block becomes a block if it has a duration, and the key is an address.
func (r *rule) block(seconds uint32) {
	switch {
	case seconds == 0:
		r.deny()
		r.NoteDecision("block with mitigation_timeout 0: deny, which refuses what matches while the count is over the limit.")
	case r.Spec.Key.Everybody:
		r.deny()
		r.NoteDecision("block for %d seconds becomes deny, which lasts while the count is over the limit: a key without an address has nothing to block.", seconds)
	case len(r.Spec.Key.With) > 0:
		r.deny()
		r.NoteDecision("WARNING: block for %d seconds becomes deny, which lasts while the count is over the limit: a block here takes the whole address, and the key is more than that.", seconds)
	default:
		r.Spec.Action, r.Spec.BlockFor = edgeguard.ActionBlock, time.Duration(seconds)*time.Second
		r.NoteDecision("block with mitigation_timeout %d: block, and block_for.", seconds)
		if r.acted != nil && !r.acted.IsAlways() {
			r.NoteDecision("WARNING: a block refuses everything from the address. Cloudflare refuses what the expression matches alone. `action: deny` does that, while the count is over the limit.")
		}
	}
}

// deny refuses what is counted, so nothing else may be acted on.
func (r *rule) deny() {
	r.Spec.Action = edgeguard.ActionDeny
	switch {
	case r.differ:
		r.Refuse("counting_expression counts other requests than the rule acts on, and deny refuses what it counts")
	case r.status:
		r.Refuse("what is counted depends on the answer, and deny cannot refuse an answer")
	}
}
