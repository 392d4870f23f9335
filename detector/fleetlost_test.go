package detector_test

import (
	"net/netip"
	"testing"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/rules"
)

// TestFleetLost: what each rule does without the fleet.
func TestFleetLost(t *testing.T) {
	for _, test := range []struct {
		name        string
		spec        rules.Spec
		first, over edgeguard.Verdict
		blocks      int
	}{
		{"local blocks", rules.Spec{}, edgeguard.Verdict{}, edgeguard.Verdict{Action: edgeguard.ActionDeny, Reason: "blocked"}, 1},
		{"open blocks nobody", rules.Spec{OnFleetLoss: rules.LossOpen}, edgeguard.Verdict{}, edgeguard.Verdict{Action: edgeguard.ActionShadow, Reason: "over limit"}, 0},
		{"open denies nobody", rules.Spec{OnFleetLoss: rules.LossOpen, Action: edgeguard.ActionDeny}, edgeguard.Verdict{}, edgeguard.Verdict{Action: edgeguard.ActionShadow, Reason: "over limit"}, 0},
		{"closed denies everybody", rules.Spec{OnFleetLoss: rules.LossClosed, Action: edgeguard.ActionDeny},
			edgeguard.Verdict{Action: edgeguard.ActionDeny, Reason: "fleet lost"}, edgeguard.Verdict{Action: edgeguard.ActionDeny, Reason: "fleet lost"}, 0},
		{"closed blocks too", rules.Spec{OnFleetLoss: rules.LossClosed}, edgeguard.Verdict{Action: edgeguard.ActionDeny, Reason: "fleet lost"}, edgeguard.Verdict{Action: edgeguard.ActionDeny, Reason: "blocked"}, 1},
	} {
		test.spec.Name, test.spec.Threshold, test.spec.Guard = "r", 3, "1"
		test.spec.Match = rules.Match{Method: []string{"POST"}}
		f := newFleet(t, test.spec)
		f.SetFleetLost(true)
		post := request(someone, epoch)
		post.Known, post.Method = edgeguard.FieldMethod, "POST"
		same := func(what string, got, want edgeguard.Verdict) {
			if got.Action != want.Action || got.Reason != want.Reason || want.Reason != "" && got.Rule != "r" {
				t.Errorf("%s, %s: %+v, want %+v", test.name, what, got, want)
			}
		}
		same("the first", f.Decide(epoch, &post), test.first)
		forged, get := post, post
		forged.Verified, get.Method = 0, "GET"
		same("a forgeable one", f.Decide(epoch, &forged), edgeguard.Verdict{})
		same("one that does not match", f.Decide(epoch, &get), edgeguard.Verdict{})
		f.Decide(epoch, &post)
		f.Decide(epoch, &post)
		same("the fourth", f.Decide(epoch, &post), test.over)
		if len(f.told) != test.blocks {
			t.Errorf("%s: blocks %v", test.name, f.told)
		}
		if test.spec.OnFleetLoss == rules.LossOpen {
			f.hear(epoch, 100)
			if len(f.told) > 0 {
				t.Errorf("%s: a total blocked %v", test.name, f.told)
			}
		}
		f.reload(t, test.spec)
		post.Addr = netip.MustParseAddr("192.0.2.77")
		same("after a reload", f.Decide(epoch, &post), test.first)
		f.SetFleetLost(false)
		post.Addr = netip.MustParseAddr("192.0.2.78")
		same("the fleet is back", f.Decide(epoch, &post), edgeguard.Verdict{})
	}
}

// TestFleetLostInMonitor: monitor enforces nothing, closed rules included.
func TestFleetLostInMonitor(t *testing.T) {
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 3, OnFleetLoss: rules.LossClosed})
	f.config.Monitor = true
	f.Detector = detector.New(f.config)
	f.SetFleetLost(true)
	if v := f.send(1, someone, epoch); v.Action != edgeguard.ActionShadow || v.Reason != "fleet lost" {
		t.Errorf("%+v", v)
	}
}
