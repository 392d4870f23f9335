package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard/admin/watch"
	"edgeguard/snapshot"
)

// What is saved is read by the next run, with as many rules and as long names as there may be.
func TestDayIsKept(t *testing.T) {
	folder, begin := t.TempDir(), time.Unix(1_800_000_000, 0).UTC()
	rates := new(watch.Rates)
	for i := range 3 {
		m := watch.DayMinute{Begin: begin.Add(time.Duration(7*i) * time.Minute), Requests: 1 << 60, Denied: 3, Blocks: 2, Failed: 60, Monitor: i == 2, Rules: map[string]watch.RuleCounters{}}
		for j := range 64 * i {
			m.Rules[fmt.Sprintf("%063d", j)] = watch.RuleCounters{Denied: 1 << 59, Blocks: uint64(j)}
		}
		rates.RestoreMinute(m)
	}
	rates.EndDay()
	side := daySide(folder, rates)
	if err := side.Save(snapshot.Cut{Node: "n1", Taken: begin}); err != nil {
		t.Fatal(err)
	}
	again := daySide(folder, new(watch.Rates))
	if err := again.Load(begin); err != nil {
		t.Fatal(err)
	}
	want := rates.Day()
	want[0].Rules = nil // none
	got := again.Kept.Day()
	if len(got[0].Rules) == 0 {
		got[0].Rules = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(folder, dayFileName)); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
