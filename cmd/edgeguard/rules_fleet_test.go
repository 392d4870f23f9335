package main

import (
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/node/overlay"
)

// What was set for the fleet is printed with its end and who set it, and for the config with its action.
func TestWhatTheFleetHas(t *testing.T) {
	since := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	of := func(change func(*admin.FleetThreshold)) overlay.Shared {
		f := admin.FleetThreshold{Threshold: 800, Base: 2000, Since: since, By: "ops-1", Note: "ticket 4711", Node: "edge-1", InForce: true}
		change(&f)
		return overlay.Shared{Rule: "site", Fleet: f}
	}
	const tail = ", since 2026-01-02T15:04:05Z, by ops-1: ticket 4711, set on edge-1"
	ends := func(f *admin.FleetThreshold) { f.Until = since.Add(time.Hour) }
	shadow := func(f *admin.FleetThreshold) { f.Action, f.Threshold = "shadow", f.Base }
	for _, row := range []struct {
		shared            overlay.Shared
		described, export string
	}{
		{of(ends), "threshold 800 instead of 2000, until 2026-01-02T16:04:05Z" + tail, "    threshold: 800 # instead of 2000" + tail[:len(tail)-len(", set on edge-1")] + "\n"},
		{of(shadow), "action shadow" + tail, "    action: shadow # "},
		{of(func(f *admin.FleetThreshold) { f.Action = "shadow" }), "threshold 800 instead of 2000, action shadow" + tail, "    action: shadow # "},
		{of(func(f *admin.FleetThreshold) { f.Threshold, f.InForce, f.Held, f.Share = 0, false, true, 0.4 }), "threshold 2000 again" + tail + "; it awaits confirmation here, because it would newly refuse 40 % of the requests", "# nothing is changed"},
	} {
		if lines := describeShared([]overlay.Shared{row.shared}, false); len(lines) != 1 || lines[0] != "rule site: on the whole fleet, "+row.described {
			t.Errorf("described as %q, want %q", lines, row.described)
		}
		var out strings.Builder
		exportOverlay(&out, &overlaid{fleet: []overlay.Shared{row.shared}})
		if !strings.Contains(out.String(), row.export) || strings.Contains(out.String(), "threshold: 2000") {
			t.Errorf("exported as\n%swant %q", out.String(), row.export)
		}
	}
	own := config.RuleOverlay{Name: "site", Threshold: 900, Base: 2000}
	if all := withShared(&overlaid{rules: []config.RuleOverlay{own}, fleet: []overlay.Shared{of(shadow)}}); len(all) != 1 || all[0].Threshold != 900 || all[0].Shadow {
		t.Errorf("beside the node's own %+v", all)
	}
}
