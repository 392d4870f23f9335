package blocklist

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

// A block tells its end once, however it comes, with what it refused: in time, by a lift
// (before the tombstone), for room, by an allowance. One that a longer block replaces goes on.
func TestEnded(t *testing.T) {
	l := New(Config{Retention: time.Minute, Most: 100})
	var told []string
	l.OnChange(func(b edgeguard.Block) {
		if b.Lifted {
			told = append(told, fmt.Sprint("tombstone ", b.Prefix.Addr()))
		}
	})
	l.OnEvict(func(edgeguard.Block) {})
	l.OnEnd(func(e Ended) {
		told = append(told, fmt.Sprintf("%s %s of %s refused %d, asked %d", e.Prefix.Addr(), e.Why, e.Rule, e.Refused, e.Asked))
	})
	until := func(int) time.Time { return epoch.Add(time.Hour) }
	fill(t, l, 3, until)
	refuse := func(i int, events uint32) {
		_, hit := l.FindHit(epoch, host(i).Addr())
		hit.Refused(epoch, events)
		hit.Asked(1)
	}
	refuse(0, 7)
	longer := edgeguard.Block{Prefix: host(0), Rule: "longer", Origin: "n1", Since: epoch, Until: epoch.Add(2 * time.Hour), Version: 2}
	if _, err := l.Merge(longer, epoch); err != nil {
		t.Fatal(err)
	}
	refuse(0, 3)
	refuse(1, 1)
	if _, ok := l.Lift(host(1), epoch, "mistake", "n1"); !ok {
		t.Fatal("not lifted")
	}
	l.Sweep(epoch.Add(time.Hour))
	l.Sweep(epoch.Add(2 * time.Hour))
	want := []string{
		host(1).Addr().String() + " lifted of site refused 1, asked 1",
		"tombstone " + host(1).Addr().String(),
		host(2).Addr().String() + " time of site refused 0, asked 0",
		host(0).Addr().String() + " time of longer refused 10, asked 2",
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q\nwant\n%q", told, want)
	}
	told = nil
	l = New(Config{Most: 100})
	l.OnEnd(func(e Ended) { told = append(told, string(e.Why)) })
	fill(t, l, 102, until)
	allow := edgeguard.Block{Prefix: host(101), Rule: edgeguard.ManualRule, Origin: "n1", Since: epoch, Until: epoch.Add(99 * time.Hour), Allow: true}
	if _, _, err := l.Add(allow, false, epoch); err != nil {
		t.Fatal(err)
	}
	if want := []string{"evicted", "evicted", "allowed"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
