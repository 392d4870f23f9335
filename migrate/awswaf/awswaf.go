// Package awswaf reads the rate-based rules of an AWS WAF web ACL as rules of edgeguard.
package awswaf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/migrate"
)

// Encoding is how the search strings of a file are written. The AWS CLI prints them in
// base64, and the console and its documentation as they are.
type Encoding string

// Auto decides by the file, and refuses rules where that cannot be decided.
const (
	Auto   Encoding = "auto"
	Base64 Encoding = "base64"
	Plain  Encoding = "plain"
)

// Encodings are all.
func Encodings() []string { return []string{string(Auto), string(Base64), string(Plain)} }

// Import reads the JSON of a web ACL, a rule group, a list of rules, a rule or a
// statement.
func Import(data []byte, encoding Encoding) (*migrate.Report, error) {
	im := &importer{encoding: encoding, report: &migrate.Report{From: "AWS WAF", Notes: notes}}
	list, err := migrate.RulesOf(data, fix, otherFormats, im.find)
	if err != nil {
		return nil, err
	}
	im.decideEncoding(list)
	im.read(list)
	return im.report, nil
}

// notes are what differs for all rules.
var notes = []string{
	"AWS WAF counts about every 10 seconds, and each web ACL by itself; edgeguard counts each request at once, over all nodes of a fleet.",
	migrate.NotePaths, migrate.NoteIPv6, migrate.NoteFields,
}

// fix is how to get what can be read.
const fix = "import what `aws wafv2 get-web-acl --name NAME --scope SCOPE --id ID` prints"

// otherFormats say the same in other words.
var otherFormats = [][2]string{
	{"AWSTemplateFormatVersion", "a CloudFormation template"}, {"AWS::WAFv2", "a CloudFormation template"}, {"aws_wafv2_", "Terraform"},
}

// importer reads one file.
type importer struct {
	report   *migrate.Report
	encoding Encoding
	byCLI    bool // the file is an answer of the API
}

// find returns the rules of a file.
func (im *importer) find(root *migrate.JSONValue) ([]*migrate.JSONValue, error) {
	if root.IsList() {
		return root.Items(), nil
	}
	if root.Field("Resources") != nil || root.Field("Properties") != nil {
		return nil, errors.New("is a CloudFormation template, which is not read: " + fix)
	}
	im.byCLI = root.Field("LockToken") != nil
	for _, name := range []string{"WebACL", "RuleGroup"} {
		if inner := root.Field(name); inner != nil {
			root = inner
		}
	}
	switch {
	case root.Field("Rules").IsList():
		im.around(root)
		return root.Field("Rules").Items(), nil
	case root.Field("Statement") != nil, root.Field("RateBasedStatement") != nil:
		return []*migrate.JSONValue{root}, nil
	}
	if root.Field("RateKey") != nil || root.Field("Rule").Field("RateKey") != nil {
		return nil, errors.New("is of AWS WAF Classic, which is not read: migrate it to AWS WAF first")
	}
	return nil, errors.New("has no WebACL, RuleGroup, Rules, Statement or RateBasedStatement: " + fix)
}

// around names what of a web ACL is not imported besides its rules.
func (im *importer) around(acl *migrate.JSONValue) {
	if acl.Field("DefaultAction").Field("Block") != nil {
		im.report.Leave("DefaultAction Block: a web ACL that refuses what no rule allows")
	}
	for _, name := range []string{"PreProcessFirewallManagerRuleGroups", "PostProcessFirewallManagerRuleGroups"} {
		if n := len(acl.Field(name).Items()); n > 0 {
			im.report.Leave("%s: %d rule groups of the organization", name, n)
		}
	}
}

// rule is one rule of the file, in the order in which AWS evaluates them.
type rule struct {
	value    *migrate.JSONValue
	called   string
	name     string
	priority uint32
	ends     string // why later rules may not see a request that this one matches
}

func (im *importer) read(list []*migrate.JSONValue) {
	var all []rule
	for i, v := range list {
		r := rule{value: v, name: fmt.Sprintf("rule-%d", i+1)}
		if name, ok := v.Field("Name").Text(); ok {
			r.name = name
		}
		r.called = fmt.Sprintf("rule %q", r.name)
		if priority, ok := v.Field("Priority").Whole(1<<31 - 1); ok {
			r.priority = priority
			r.called += fmt.Sprintf(" (priority %d)", priority)
		}
		r.ends = ends(v)
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b rule) int { return int(int64(a.priority) - int64(b.priority)) })
	var before earlier
	for i := range all {
		r := &all[i]
		statement, ends := statementOf(r.value).Field("RateBasedStatement"), &before.rates
		if statement == nil {
			im.report.Leave("%s: %s is not a rate-based statement", r.called, strings.Join(statementOf(r.value).Names(), ", "))
			ends = &before.others
		} else {
			im.rateRule(r, statement, before)
		}
		if r.ends != "" {
			*ends = append(*ends, fmt.Sprintf("%.64q (%s)", r.name, r.ends))
		}
	}
}

// earlier are the rules before one that end requests.
type earlier struct{ others, rates []string }

// note says which requests AWS does not count because of them.
func (e *earlier) note(out *migrate.Draft) {
	if len(e.others) > 0 {
		out.NoteDecision("Rules before it are not imported: %s. AWS WAF does not count requests that these end; this rule does.", some(e.others))
	}
	if len(e.rates) > 0 {
		out.NoteDecision("Rate-based rules before it: %s. AWS WAF does not count here what these have refused; this rule counts all that it matches.", some(e.rates))
	}
}

// some names the first of a list.
func some(names []string) string {
	if more := len(names) - mostBefore; more > 0 {
		names = append(names[:mostBefore:mostBefore], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// statementOf returns the statement of a rule, which may be a statement alone.
func statementOf(v *migrate.JSONValue) *migrate.JSONValue {
	if s := v.Field("Statement"); s != nil {
		return s
	}
	return v
}

// ends returns the action of a rule after which AWS evaluates no later rule. A challenge
// ends it for clients that have not passed one.
func ends(v *migrate.JSONValue) string {
	for _, action := range []string{"Allow", "Block", "Captcha", "Challenge"} {
		if v.Field("Action").Field(action) != nil {
			return action
		}
	}
	if over := v.Field("OverrideAction"); over != nil && over.Field("Count") == nil {
		return "a rule group"
	}
	return ""
}

// mostBefore is how many rules that come before one are named beside it. All are named at
// the end.
const mostBefore = 8

// windows are the windows that AWS has.
var windows = []uint32{60, 120, 300, 600}

// rateRule imports one rule.
func (im *importer) rateRule(r *rule, s *migrate.JSONValue, before earlier) {
	out := &migrate.Draft{Called: r.called}
	limit, ok := s.Field("Limit").Whole(1<<31 - 1)
	if !ok {
		out.Refuse("Limit is not a whole number")
	}
	seconds := uint32(300)
	if w := s.Field("EvaluationWindowSec"); w != nil {
		seconds, ok = w.Whole(600)
		if !ok || !slices.Contains(windows, seconds) {
			out.Refuse("EvaluationWindowSec is not 60, 120, 300 or 600")
		}
	}
	out.SetRate(limit, seconds, fmt.Sprintf("Limit %d", limit), "AWS WAF")
	im.readKey(out, s)
	im.scope(out, s)
	action(out, r.value)
	before.note(out)
	r.value.SkipFields("Name", "Priority", "VisibilityConfig")
	if len(r.value.Field("RuleLabels").Items()) > 0 {
		r.value.SkipFields("RuleLabels")
		out.NoteDecision("The labels that it adds are not imported.")
	}
	im.report.AddRead(out, r.value, r.name)
}

// action reads what AWS does while the rate is over the limit.
func action(out *migrate.Draft, v *migrate.JSONValue) {
	a := v.Field("Action")
	switch names := a.Names(); {
	case v.Field("Action") == nil && v.Field("Statement") == nil:
		out.Spec.Action = edgeguard.ActionShadow
		out.NoteDecision("The file has the statement alone, without an action: shadow, which refuses nothing.")
	case len(names) != 1:
		out.Refuse("Action is missing, or more than one")
	case names[0] == "Block":
		out.Spec.Action = edgeguard.ActionDeny
		out.NoteDecision("Block: deny, which refuses what matches while the count is over the limit, as AWS WAF does.")
		if a.Field("Block").Field("CustomResponse") != nil {
			a.Field("Block").SkipFields("CustomResponse")
			out.NoteDecision(migrate.NoteResponse)
		}
	case names[0] == "Count":
		out.Spec.Action = edgeguard.ActionShadow
		out.NoteDecision(migrate.NoteShadow, "Count")
		skipHandling(out, a.Field("Count"))
	case names[0] == "Captcha", names[0] == "Challenge":
		out.Spec.Action = edgeguard.ActionDeny
		out.NoteDecision(migrate.NoteChallenge, names[0])
		skipHandling(out, a.Field(names[0]))
		v.SkipFields("CaptchaConfig", "ChallengeConfig")
	default:
		out.Refuse("Action %s has no meaning in a rule that counts", names[0])
	}
}

// skipHandling names headers that AWS adds to requests.
func skipHandling(out *migrate.Draft, a *migrate.JSONValue) {
	if a.Field("CustomRequestHandling") != nil {
		a.SkipFields("CustomRequestHandling")
		out.NoteDecision("The headers that it adds to requests are not imported.")
	}
}
