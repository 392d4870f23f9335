package admin

import (
	"net/netip"
	"testing"
	"time"
)

// How soon who still sends is back follows from what it sent in the last slots, by the rule
// that is first.
func TestReturns(t *testing.T) {
	now := time.Unix(1_700_000_000, 0) // a slot of five seconds begins
	sent := func(last ...uint16) []uint16 { return append(make([]uint16, 60-len(last)), last...) }
	one := netip.MustParsePrefix("203.0.113.9/32")
	const atThisPace = "It still sends, and at this pace no rule that counts events blocks it again."
	for name, test := range map[string]struct {
		prefix netip.Prefix
		counts []RuleCount
		want   string
	}{
		"twelve seconds":        {one, []RuleCount{{Rule: "site", Does: "block", Slots: sent(500, 500, 0), Window: 300, Limit: 1199}}, "It still sends: at this pace rule site blocks it again in 12 s."},
		"the first of two":      {one, []RuleCount{{Rule: "site", Does: "block", Slots: sent(500, 500, 0), Window: 300, Limit: 1999}, {Rule: "login", Does: "block", Slots: sent(10, 10, 0), Window: 300, Limit: 19}}, "It still sends: at this pace rule login blocks it again in 10 s."},
		"at once":               {one, []RuleCount{{Rule: "site", Does: "block", Slots: sent(65535, 65535, 65535), Window: 300, Limit: 1}}, "It still sends: at this pace rule site blocks it again in 1 s."},
		"too slow":              {one, []RuleCount{{Rule: "site", Does: "block", Slots: sent(1, 1, 1), Window: 300, Limit: 1900}}, atThisPace},
		"a rule that reports":   {one, []RuleCount{{Rule: "site", Does: "shadow", Slots: sent(500, 500, 500), Window: 300, Limit: 10}}, atThisPace},
		"different values":      {one, []RuleCount{{Rule: "site", Does: "block", Distinct: "path", Slots: sent(500, 500, 500), Window: 300, Limit: 10}}, atThisPace},
		"before":                {one, []RuleCount{{Rule: "site", Does: "block", Slots: sent(500, 0, 0, 0), Window: 300, Limit: 10}}, ""},
		"can be forged":         {one, []RuleCount{{Rule: "syn", Does: "block", Forgeable: true, Slots: sent(500, 500, 500), Window: 300, Limit: 10}}, ""},
		"nothing is counted":    {one, []RuleCount{{Rule: "site", Does: "block", Window: 300, Limit: 10}}, ""},
		"slow, and a low limit": {one, []RuleCount{{Rule: "login", Does: "block", Slots: sent(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0), Window: 300, Limit: 11}}, "It still sends: at this pace rule login blocks it again in 4 min 40 s."},
		"slow, and it stopped":  {one, []RuleCount{{Rule: "login", Does: "block", Slots: sent(1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0), Window: 300, Limit: 11}}, ""},
		"one burst":             {one, []RuleCount{{Rule: "login", Does: "block", Slots: sent(9, 0, 0, 0, 0), Window: 300, Limit: 11}}, ""},
		"a network":             {netip.MustParsePrefix("203.0.113.0/24"), []RuleCount{{Rule: "site", Does: "block", Slots: sent(500, 500, 500), Window: 300, Limit: 10}}, ""},
	} {
		if got := Returns(test.prefix, test.counts, now); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestLingers(t *testing.T) {
	s := Stats{Enforcers: []Enforcer{{Name: "/geo.conf", Takes: 20}, {Name: "nftables edgeguard", Takes: 1}, {Name: "cloudflare l", Takes: 120}},
		Bouncers: &BouncerFigures{Bouncers: []BouncerFigure{{Name: "fw", LastPull: time.Unix(1, 0), Every: 15}, {Name: "new"}}}}
	const here = "It may still be refused, for at most 20 s by /geo.conf, for 2 min by cloudflare l, for 30 s by bouncer fw."
	if got := s.Lingers(); got != here {
		t.Error(got)
	}
	s.Enforcers = append(s.Enforcers, Enforcer{Name: "nftables dry", Takes: 30, DryRun: true})
	if got := s.Lingers(); got != here {
		t.Error(got)
	}
	s.Fleet = &Fleet{Alive: 3}
	if got := s.Lingers(); got != here+" The lists of the fleet's other nodes take as long as each says." {
		t.Error(got)
	}
	s.Monitor = true
	if got := s.Lingers(); got != "" {
		t.Error(got)
	}
	if got := (&Stats{Enforcers: s.Enforcers[1:2]}).Lingers(); got != "" {
		t.Error(got)
	}
}
