package node

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
)

// TestPartsOrder: events pass the parts of a node in this order, and these have those functions.
// All are called in it, but parts begin in the other.
func TestPartsOrder(t *testing.T) {
	want := strings.Fields(`
alarms:check sweep:check overlay:check
auth:settle,report,check,stop spoe:settle,report,check,stop envoy:settle,report,check,stop logs:settle,report,check,stop packets:settle,report,check,stop
haproxies:settle,report,check,stop crawlers:settle,report,stop
uncounted:check dominant:seldom hidden:seldom flood:check site:check samples:seldom
fleet:settle,again,report,check,stop held:check nodes:check unsigned:seldom claims:check room:check
state:load,seldom,stop
lists:load,settle,again,report,check,stop blocklists:settle,report,stop imports:report,check
bouncers:load,settle,report,check,stop crowdsec:settle,report,stop notify:settle,report,stop
elsewhere:report,seldom served:seldom admin:settle,again,check,stop`)
	n, err := New(config.Default(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	called := map[string][]string{}
	var parts parts
	var got []string
	for _, p := range n.parts {
		recorded, has := recordCalls(p, called)
		parts, got = append(parts, recorded), append(got, p.name+":"+strings.Join(has, ","))
	}
	if !slices.Equal(got, want) {
		t.Errorf("parts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	parts.load()
	parts.settle(t.Context(), nil)
	parts.again()
	parts.report(nil)
	parts.check(time.Time{})
	parts.checkSeldom(time.Time{})
	parts.stop()
	for _, function := range []string{"load", "settle", "again", "report", "check", "seldom", "stop"} {
		var order []string
		for _, one := range want {
			if name, has, _ := strings.Cut(one, ":"); slices.Contains(strings.Split(has, ","), function) {
				order = append(order, name)
			}
		}
		if function == "settle" {
			slices.Reverse(order)
		}
		if !slices.Equal(called[function], order) {
			t.Errorf("%s of %v, want %v", function, called[function], order)
		}
	}
}

// recordCalls returns a part whose functions note that they were called in place of those of
// another, which it names.
func recordCalls(p part, called map[string][]string) (recorded part, has []string) {
	recorded.name = p.name
	record := func(function string, is bool) func() {
		if is {
			has = append(has, function)
		}
		return func() {
			if is {
				called[function] = append(called[function], p.name)
			}
		}
	}
	recorded.load = record("load", p.load != nil)
	settle := record("settle", p.settle != nil)
	recorded.settle = func(context.Context, *config.Config) { settle() }
	recorded.again = record("again", p.again != nil)
	report := record("report", p.report != nil)
	recorded.report = func(*admin.Stats) { report() }
	check := record("check", p.check != nil)
	recorded.check = func(time.Time) { check() }
	seldom := record("seldom", p.seldom != nil)
	recorded.seldom = func(time.Time) { seldom() }
	recorded.stop = record("stop", p.stop != nil)
	return recorded, has
}
