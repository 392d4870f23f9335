package doctor

import (
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/haproxy"
)

// A listener at which nobody has asked is a doubt only where nothing else refuses.
func TestNobodyAsked(t *testing.T) {
	unasked := []admin.Source{{Name: "auth 127.0.0.1:9180", Asked: true}, {Name: "log /a", Events: 7}}
	for name, one := range map[string]struct {
		stats admin.Stats
		want  []severity
	}{
		"nothing else":   {admin.Stats{Sources: unasked}, []severity{doubt}},
		"monitor":        {admin.Stats{Sources: unasked, Monitor: true}, nil},
		"asked":          {admin.Stats{Sources: []admin.Source{{Name: "auth 127.0.0.1:9180", Asked: true, Events: 1}}}, nil},
		"asked by SPOE":  {admin.Stats{Sources: append(unasked[:1:1], admin.Source{Name: "spoe unix:/s", Asked: true, Events: 1})}, []severity{fine}},
		"a list":         {admin.Stats{Sources: unasked, Enforcers: []admin.Enforcer{{Name: "list /l"}}}, []severity{fine}},
		"HAProxy taught": {admin.Stats{Sources: unasked, Enforcers: []admin.Enforcer{{Name: "haproxy peers"}}}, []severity{fine}},
		"HAProxy counts": {admin.Stats{Sources: unasked, HAProxies: []haproxy.ListenerFigures{{Count: true}}}, []severity{doubt}},
	} {
		one.stats.Started, one.stats.Time = time.Unix(1_800_000_000, 0), time.Unix(1_800_000_060, 0)
		var x examination
		x.asked(&one.stats)
		var got []severity
		for _, f := range x.findings {
			got = append(got, f.Severity)
		}
		if len(got) != len(one.want) || len(got) == 1 && got[0] != one.want[0] {
			t.Errorf("%s: %v, want %v", name, x.findings, one.want)
		}
	}
}
