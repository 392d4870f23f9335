package redis

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/redistest"
)

// Three nodes extend one block at every slot, as a while_over rule does on each that the
// client asks. One of them publishes, four times a window, and the others first when that
// one is gone. A node that the client does not ask has an end that is a little older.
func TestOneNodeExtends(t *testing.T) {
	t.Parallel()
	const window, slots = time.Hour, 60
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 4, nil)
	for _, m := range fleet {
		m.extends = window
	}
	prefix, from := netip.MustParsePrefix("192.0.2.1/32"), time.Now().Add(window)
	begins := edgeguard.Block{Prefix: prefix, Rule: "over", Origin: fleet[0].name, Since: time.Now(), Until: from, Version: 1}
	if _, err := fleet[0].list.Merge(begins, time.Now()); err != nil {
		t.Fatal(err)
	}
	end := func(m *member) time.Time {
		b := m.list.BlockOf(time.Now(), prefix)
		if b == nil {
			return time.Time{}
		}
		return b.Until
	}
	aside := fleet[3]
	extend := func(by []*member, slack time.Duration) {
		for range slots {
			from = from.Add(window / slots)
			for _, m := range by {
				b := *m.list.BlockOf(time.Now(), prefix)
				b.Until = from
				if _, err := m.list.Merge(b, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			aside.eventually(t, "the end", func() bool { return end(aside).After(from.Add(-slack)) })
		}
	}
	published := func() (all [3]uint64) {
		for i := range all {
			all[i] = fleet[i].link.Stats().Published
		}
		return all
	}
	for _, m := range fleet {
		m.eventually(t, "the block", func() bool { return end(m).Equal(begins.Until.Round(0)) })
	}
	extend(fleet[:3], window/4)
	if got := published(); got[0] < 4 || got[0] > 5 || got[1]+got[2] > 0 {
		t.Errorf("a window of extensions was published %v times, want the block and at most four by the node that made it", got)
	}
	fleet[0].stop()
	extend(fleet[1:3], window*3/4)
	if got := published(); got[1]+got[2] < 1 || got[1]+got[2] > 2 {
		t.Errorf("without that node they were published %v times", got)
	}
}
