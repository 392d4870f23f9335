package main

import (
	"context"
	"reflect"
	"testing"

	"edgeguard/detector"
	"edgeguard/internal/fulltest"
	"edgeguard/rules"
)

// TestSpared holds that what a client is spared in a day is enough where a site crashes again
// and again, and that half of it is not; and that a log without hosts is guarded
// the same whether own_hosts is set or not.
func TestSpared(t *testing.T) {
	fulltest.Only(t)
	sets, err := named([]string{packaged})
	if err != nil {
		t.Fatal(err)
	}
	half, owned := sets[0], sets[0]
	half.spared = detector.SparedLimits / 2
	owned.own, _ = rules.ParseHosts([]string{"harbour.example"}) // no line names it
	for _, name := range []string{"deploy", "crash-loop"} {
		var all []group
		for _, r := range []ruleset{sets[0], owned, half} {
			v, err := visitorsOf(context.Background(), r, sceneOf(name), 1)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		if v := all[0]; 100*v.stopped() > v.addresses || v.by[lifted] == 0 {
			t.Errorf("%s: %d of %d are stopped, and %d blocks lifted", name, v.stopped(), v.addresses, v.by[lifted])
		}
		if !reflect.DeepEqual(all[0], all[1]) {
			t.Errorf("%s: %+v, and with own_hosts %+v", name, all[0], all[1])
		}
		if v := all[2]; name == "crash-loop" && 100*v.stopped() <= v.addresses {
			t.Errorf("half of what a client is spared is enough: %d of %d are stopped", v.stopped(), v.addresses)
		}
	}
}
