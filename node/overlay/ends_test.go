package overlay

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator/fleet"
	"edgeguard/config"
	"edgeguard/node/alarm"
)

// desk is a node's rules on a clock that the test sets.
type desk struct {
	*Control
	t     *testing.T
	now   time.Time
	audit []string
}

// newDesk starts from what a state folder has.
func newDesk(t *testing.T, folder string, base *config.Config, now time.Time) *desk {
	d := &desk{t: t, now: now}
	d.Control = New(Deps{
		State: folder, Now: func() time.Time { return d.now }, Epoch: func(at time.Time) time.Time { return at },
		Replace:      func(f func() (*config.Config, error)) error { _, err := f(); return err },
		ConfirmShare: func(*config.Config) float64 { return 1 },
		Audit: func(who, action, rule, detail string) {
			d.audit = append(d.audit, who+": "+action+" "+rule+", "+detail)
		},
		Alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {}), Log: slog.New(slog.DiscardHandler),
	})
	d.On(base)
	return d
}

// after lets time pass.
func (d *desk) after(by time.Duration) {
	d.now = d.now.Add(by)
	d.EndDue(d.now)
}

// wants compares what is in force and what was recorded since.
func (d *desk) wants(threshold uint32, action edgeguard.Action, audit ...string) {
	d.t.Helper()
	r := d.Control.now.Load().config.Rules.Rules[0]
	if r.Threshold != threshold || r.Action != action || fmt.Sprint(d.audit) != fmt.Sprint(audit) {
		d.t.Errorf("in force are %d, %v, recorded %q, want %d, %v, %q", r.Threshold, r.Action, d.audit, threshold, action, audit)
	}
	d.audit = nil
}

// set changes rule site for the fleet.
func (d *desk) set(was uint32, r admin.ThresholdRequest) {
	d.t.Helper()
	r.IfThreshold, r.Scope, r.Force = was, admin.ScopeFleet, true
	if _, p := d.SetThreshold(d.t.Context(), "site", "ops-1", r); p != nil {
		d.t.Fatal(p)
	}
}

// last returns the record of rule site.
func (d *desk) last() fleet.ThresholdRecord {
	e, _ := d.Fleet().Book().EntryOf("site")
	return e.ThresholdRecord
}

// What was set for the fleet for a time ends on each node by its own clock: where it runs, over a
// restart, and where it comes too late; also where the disk is full. What is not asked for stays.
func TestFleetEndsByItself(t *testing.T) {
	base := joined(t, "{name: site, threshold: 2000}", "")
	begin := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	folders := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	a, b, away := newDesk(t, folders[0], base, begin), newDesk(t, folders[1], base, begin), newDesk(t, folders[2], base, begin)
	a.set(2000, admin.ThresholdRequest{Threshold: 800, For: "1h"})
	a.set(800, admin.ThresholdRequest{Action: "shadow", For: "2h"})
	if r := a.last(); r.Threshold != 800 || !r.Shadow || r.End() != begin.Add(2*time.Hour) {
		t.Fatalf("%+v", r)
	}
	b.Fleet().Take(t.Context(), []fleet.ThresholdRecord{a.last()})
	came := "fleet: threshold site, 2000 → 800, action shadow, until 2026-01-02T17:04:05Z, on a by ops-1"
	b.wants(800, edgeguard.ActionShadow, came)
	if o, f := b.Shown("site"); o == nil || o.Threshold != 800 || o.Action != "shadow" || o.Until != begin.Add(2*time.Hour) || f == nil || !f.InForce || f.Until != o.Until {
		t.Errorf("shown as %+v, %+v", o, f)
	}
	b = newDesk(t, folders[1], base, begin.Add(time.Minute))
	b.wants(800, edgeguard.ActionShadow)
	a.after(2*time.Hour - time.Second)
	a.wants(800, edgeguard.ActionShadow)

	const over = "edgeguard: end overlay site, the fleet's: its time is over: 800 → 2000"
	a.after(time.Second)
	a.wants(2000, edgeguard.ActionBlock, over)
	a.after(time.Second)
	a.wants(2000, edgeguard.ActionBlock)
	if o, f := a.Shown("site"); o != nil || f != nil {
		t.Errorf("after its end %+v, %+v", o, f)
	}
	b = newDesk(t, folders[1], base, begin.Add(2*time.Hour))
	b.wants(2000, edgeguard.ActionBlock, over)
	b = newDesk(t, folders[1], base, begin.Add(3*time.Hour))
	b.wants(2000, edgeguard.ActionBlock)
	b = newDesk(t, folders[1], base, begin) // the clock was ahead
	b.wants(800, edgeguard.ActionShadow)

	away.now = begin.Add(3 * time.Hour)
	away.Fleet().Take(t.Context(), []fleet.ThresholdRecord{a.last()})
	away.wants(2000, edgeguard.ActionBlock, came)
	if _, _, p := away.EndFleet("site", "ops-1", false); p == nil {
		t.Error("undone after its end")
	}
	if shared, err := SharedIn(folders[2]); err != nil || len(shared) > 0 {
		t.Errorf("the file shows %+v, %v", shared, err)
	}
	away.set(2000, admin.ThresholdRequest{Threshold: 900})
	if r := away.last(); r.Shadow || r.Until != 0 || r.At <= a.last().At {
		t.Errorf("after what ended comes %+v", r)
	}

	b.must(os.RemoveAll(folders[1]))
	b.must(os.WriteFile(folders[1], nil, 0o600)) // nothing can be written there
	b.after(2 * time.Hour)
	b.wants(2000, edgeguard.ActionBlock, over)
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// A rule that only reports on the fleet keeps that with another threshold, until the undo, which
// nodes hold where the rule would refuse much again. Confirmed, what waits keeps its end.
func TestFleetOnlyReports(t *testing.T) {
	base := joined(t, "{name: site, threshold: 2000}", "")
	d := newDesk(t, t.TempDir(), base, time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC))
	d.set(2000, admin.ThresholdRequest{Action: "shadow"})
	d.wants(2000, edgeguard.ActionShadow)
	if o, f := d.Shown("site"); o == nil || o.Action != "shadow" || o.Threshold != 2000 || f.Threshold != 2000 || f.Action != "shadow" {
		t.Errorf("shown as %+v, %+v", o, f)
	}
	d.set(2000, admin.ThresholdRequest{Threshold: 800})
	d.wants(800, edgeguard.ActionShadow)
	d.set(800, admin.ThresholdRequest{Threshold: 2000})
	d.wants(2000, edgeguard.ActionShadow)
	if got := d.below("site"); got != 2000 {
		t.Errorf("below is %d", got)
	}
	if _, now, p := d.EndFleet("site", "ops-1", false); p != nil || now != 2000 {
		t.Fatal(now, p)
	}
	d.wants(2000, edgeguard.ActionBlock)

	r := d.last()
	r.At, r.Threshold, r.Until = r.At+1, 700, d.now.Add(time.Hour).UnixMilli()
	d.book = d.book.WithRecord(r, true, 0.5)
	d.keep(merge(d.base, d.kept, d.book))
	d.wants(2000, edgeguard.ActionBlock)
	d.set(2000, admin.ThresholdRequest{Threshold: 700})
	d.wants(700, edgeguard.ActionBlock)
	if got := d.last().Until; got != r.Until {
		t.Errorf("confirmed it ends at %d, want %d", got, r.Until)
	}
	d.set(700, admin.ThresholdRequest{Threshold: 2000, For: "1h"})
	if r := d.last(); !r.IsUndo() || r.Until != 0 {
		t.Errorf("the config's threshold has an end: %+v", r)
	}
	shadow := joined(t, "{name: site, threshold: 2000, action: shadow}", "")
	d = newDesk(t, t.TempDir(), shadow, d.now)
	if _, p := d.SetThreshold(t.Context(), "site", "", admin.ThresholdRequest{Action: "shadow", IfThreshold: 2000, Scope: admin.ScopeFleet}); p == nil || p.Field != "action" {
		t.Errorf("of a rule that only reports by the config: %v", p)
	}
}
