package detector_test

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// An imported block refuses, one by one, in a batch and without counting; what the own
// list says comes first. Its requests are counted, and a rule that they cross blocks with
// evidence of its own.
func TestImported(t *testing.T) {
	set, err := rules.Compile([]rules.Spec{{Name: "site", Threshold: 10, Guard: "1", Action: edgeguard.ActionBlock}})
	if err != nil {
		t.Fatal(err)
	}
	list := blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")}})
	others := imported.New(imported.Config{Own: list})
	d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(1 << 20), List: list, Imported: others})
	event := func(addr string) edgeguard.Event {
		return edgeguard.Event{Time: epoch, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
	}
	expect := func(what, addr, rule string) {
		t.Helper()
		e := event(addr)
		one, look := d.Decide(epoch, &e), d.LookUpVerdict(epoch, &e)
		batch := make([]edgeguard.Verdict, 1)
		d.DecideBatch([]time.Time{epoch}, []edgeguard.Event{e}, batch)
		explained := d.Explain(epoch, e.Addr)
		want := edgeguard.ActionPass
		if rule != "" {
			want = edgeguard.ActionDeny
		}
		for name, v := range map[string]edgeguard.Verdict{"decide": one, "look": look, "batch": batch[0]} {
			if v.Rule != rule || v.Action != want {
				t.Errorf("%s: %s of %s: %+v, want %q", what, name, addr, v, rule)
			}
		}
		if explained.Block.Rule != rule {
			t.Errorf("%s: explained as %+v", what, explained.Block)
		}
	}
	expect("none is imported", "203.0.113.9", "")
	hour := epoch.Add(time.Hour)
	others.Replace("list", []imported.Entry{{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Until: hour, Reason: "listed"}}, epoch)
	expect("imported", "203.0.113.9", "owner list")
	expect("allowed", "203.0.113.7", "")
	expect("another", "192.0.2.1", "")
	if hit := others.Blocks(); hit == nil {
		t.Fatal("none is held")
	} else if refused, _, _ := hit.Refusals(netip.MustParsePrefix("203.0.113.0/24")); refused != 2 {
		t.Errorf("%d requests were refused, want 2", refused)
	}
	for range 10 {
		e := event("203.0.113.9")
		d.Decide(epoch, &e)
	}
	if b := list.BlockOf(epoch, netip.MustParsePrefix("203.0.113.9/32")); b == nil || b.Rule != "site" {
		t.Errorf("the rule blocked %+v", b)
	}
	expect("blocked by a rule", "203.0.113.9", "site")
	others.Replace("list", nil, epoch)
	expect("lifted", "203.0.113.9", "site")
	expect("lifted", "203.0.113.10", "")
}
