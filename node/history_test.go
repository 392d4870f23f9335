package node

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/tuning"
)

const threeRules = "state: $DIR\nlisten: {auth: []}\nrules:\n  - {name: site, threshold: 20, guard: 1}\n  - {name: hourly, threshold: 9, window: 1h}\n  - {name: login, threshold: 5, match: {path: [/login]}}\n"

// What addresses counted at the end of a window is kept, through the state file, too.
func TestHistoryIsKept(t *testing.T) {
	folder := t.TempDir()
	u := newNode(t, folder, threeRules)
	end := u.clock.Now().Truncate(5 * time.Minute).Add(-10 * time.Minute)
	look := func(at time.Time) { // as often as there are meters
		for range 4 {
			u.admin.status.KeepHistory(at)
		}
	}
	for minute := -11; minute < 0; minute++ {
		look(end.Add(time.Duration(minute) * time.Minute))
	}
	for i := range 40 {
		for n := range i + 1 {
			at := end.Add(-time.Duration(n) * 7 * time.Second)
			event := requestOf(fmt.Sprintf("203.0.113.%d", i), at)
			u.pipeline.Decide(end, &event)
		}
	}
	look(end)
	kept, found := u.view().Past(u.view().Now(), "site", time.Hour)
	if !found || len(kept.All) != 2 || kept.Step != 5*time.Minute {
		t.Fatalf("%+v", kept)
	}
	before, now := kept.All[0], kept.All[1]
	if keys, _ := before.Counts.Total(); keys != 0 || now.From.Sub(before.From) != 5*time.Minute {
		t.Errorf("the window before: %d keys at %v", keys, before.At)
	}
	counts, _ := u.admin.status.Counts(u.clock.Epoch(end), "site", 10)
	keys, requests := now.Counts.Total()
	if keys != 40 || keys != counts.Tally.Peaks.Total() || requests != 820 || now.Counts.Above(kept.LimitOf(20)) != 20 {
		t.Errorf("%d keys with %d requests, %d over 20", keys, requests, now.Counts.Above(20))
	}
	if hourly, _ := u.view().Past(u.view().Now(), "hourly", time.Hour); len(hourly.All) != 0 || hourly.Step != time.Hour {
		t.Errorf("a window of an hour after ten minutes: %+v", hourly)
	}
	if bytes := u.admin.status.Stats().Tables.Parts["history"]; bytes != u.store.history.Kept.Bytes() || bytes == 0 {
		t.Errorf("%d bytes are reported", bytes)
	}
	if u.store.save() == 0 {
		t.Fatal(u.log)
	}
	u.pipeline.Close()
	u.store.release()
	u = newNode(t, folder, threeRules).start()
	if again, _ := u.view().Past(u.view().Now(), "site", time.Hour); !reflect.DeepEqual(times(again), times(kept)) || again.All[1].Counts.Above(20) != 20 {
		t.Errorf("after a restart %v, before %v", times(again), times(kept))
	}
}

// times returns when windows began and were looked at, to the second.
func times(p admin.Windows) (all []int64) {
	for _, w := range p.All {
		all = append(all, w.From.Unix(), w.At.Round(time.Second).Unix())
	}
	return all
}

// A reload that drops a meter drops its history, and one that changes a threshold
// keeps it.
func TestHistoryAfterReload(t *testing.T) {
	u := newNode(t, t.TempDir(), threeRules).start()
	now := u.clock.Now()
	for i := range u.pipeline.Current().Config.Rules.Meters {
		m := &u.pipeline.Current().Config.Rules.Meters[i]
		if err := u.store.history.Kept.Restore(now, tuning.Meter{Fingerprint: m.Fingerprint, Window: m.Window}, now, nil); err != nil {
			t.Fatal(err)
		}
	}
	u.yaml = "state: $DIR\nlisten: {auth: []}\nrules:\n  - {name: all, threshold: 30, guard: 1}\n"
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	u.admin.status.KeepHistory(u.clock.Now())
	if kept, found := u.view().Past(u.view().Now(), "all", time.Hour); !found || len(kept.All) != 1 {
		t.Errorf("of the meter that stayed: %+v", kept)
	}
	if _, found := u.view().Past(u.view().Now(), "hourly", time.Hour); found {
		t.Error("a rule that is gone has a history")
	}
	count := 0
	for range u.store.history.Kept.AllWindows() {
		count++
	}
	if count != 1 {
		t.Errorf("%d windows are kept, want that of one meter", count)
	}
}
