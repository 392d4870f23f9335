package refusal

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

func TestRefusalFields(t *testing.T) {
	policy := func(rule string) (Policy, bool) { return Policy{2000, 5 * time.Minute}, rule != "manual" }
	for _, c := range []struct {
		verdict                          edgeguard.Verdict
		retry, rule, limit, policy, kind string
	}{
		{edgeguard.Verdict{Rule: "site", RetryAfter: time.Minute}, "60", "site", `"site";r=0;t=60`, `"site";q=2000;w=300`, "quota-exceeded"},
		{edgeguard.Verdict{Rule: "site", RetryAfter: time.Minute + 1}, "61", "site", `"site";r=0;t=61`, `"site";q=2000;w=300`, "quota-exceeded"},
		{edgeguard.Verdict{Rule: "site", Reason: "blocked"}, "1", "site", `"site";r=0;t=1`, `"site";q=2000;w=300`, "abnormal-usage-detected"},
		{edgeguard.Verdict{Rule: "manual", Reason: "blocked", RetryAfter: -time.Second}, "1", "manual", "", "", "abnormal-usage-detected"},
		{edgeguard.Verdict{Rule: "a\"\\\r\nX:é"}, "1", `a"\??X:??`, `"a\"\\??X:??";r=0;t=1`, `"a\"\\??X:??";q=2000;w=300`, "quota-exceeded"},
	} {
		r := Of(&c.verdict, policy)
		if r.retryAfter != c.retry || r.rule != c.rule || r.rateLimit != c.limit || r.rateLimitPolicy != c.policy {
			t.Errorf("%+v: %+v", c.verdict, r)
		}
		for _, field := range []string{r.rule, r.rateLimit, r.rateLimitPolicy} {
			if strings.ContainsFunc(field, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Errorf("%q in a header", field)
			}
		}
		var p problem
		if err := json.Unmarshal(r.Body, &p); err != nil || p.Type != problemsAt+c.kind || p.Status != 429 || len(p.Violated) != 1 || p.Violated[0] != c.verdict.Rule {
			t.Errorf("%s: %v", r.Body, err)
		}
	}
}
