package config_test

import (
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/rules"
)

const learnedRule = "rules: [{name: crowd, match: {path: /login, status: 401}, key: {address: none}, count: {distinct: address}, action: shadow, threshold: learned}]\n"

// A threshold that is learned has no limit at first, is printed as it was written, and is no difference between
// nodes once each has its own.
func TestLearnedThreshold(t *testing.T) {
	c := parse(t, learnedRule)
	r := c.Rules.Rules[0]
	if !r.Learned || !r.Pending || r.Limit <= rules.MaxDistinct {
		t.Errorf("%+v", r)
	}
	if printed := c.YAML(); !strings.Contains(printed, "threshold: learned #") || parse(t, printed).Rules.Rules[0].Pending != true {
		t.Error(printed)
	}
	specs := []rules.Spec{c.Specs[0]}
	specs[0].Threshold, specs[0].Pending = 60, false
	next, problems := c.WithRules(specs)
	if len(problems) > 0 || next.Rules.Rules[0].Limit != 57 {
		t.Fatal(problems, next)
	}
	if next.RulesDigest() != c.RulesDigest() {
		t.Error("two nodes that learned other thresholds have other rules")
	}
	// A number that the config has later is the operator's.
	if r := parse(t, "presets: [{name: login, rules: {failed-crowd: {threshold: 50}}}]\n"); ruleOf(t, r, "login/failed-crowd").Learned || ruleOf(t, r, "login/failed-crowd").Limit != 50 {
		t.Errorf("%+v", ruleOf(t, r, "login/failed-crowd"))
	}
}

func ruleOf(t *testing.T, c *config.Config, name string) rules.Rule {
	t.Helper()
	for _, r := range c.Rules.Rules {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rule %s", name)
	return rules.Rule{}
}

func TestLearnedThresholdRefused(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{name: a, threshold: learned}]\n":                                                   "learned is for rules that count different addresses",
		strings.Replace(learnedRule, "action: shadow", "action: deny, everybody: true", 1):           "refuses nobody",
		"rules: [{name: a, threshold: leaned}]\n":                                                    "a whole number",
		strings.Replace(learnedRule, "learned}", "learned, candidates: [900]}", 1):                   "greater counts are not exact",
		"presets: [{name: login, rules: {failed-crowd: {count: {distinct: path}, key: address}}}]\n": "learned is for rules",
	} {
		if _, err := config.Parse("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// An action for a whole preset is none for its rules that count everybody together: they would refuse
// everybody, or be an error.
func TestPresetActionSparesCrowds(t *testing.T) {
	for _, action := range []string{"deny", "block", "shadow"} {
		c := parse(t, "presets: [{name: login, action: "+action+"}, {name: wordpress, action: "+action+"}]\n")
		if r := ruleOf(t, c, "login/failed-crowd"); r.Action != edgeguard.ActionShadow {
			t.Errorf("%s: %v", action, r.Action)
		}
	}
}
