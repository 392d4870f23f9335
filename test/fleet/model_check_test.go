package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/internal/redistest"
)

// All tests here rely on this: the comparison with the model notices a count
// too many, a lost one, and a block too many.
func TestTheModelNotices(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	f := newFleet(t, settings{Clients: 100, Limit: 1000}, server)
	f.start()
	f.feed()
	f.pause(3 * time.Second)
	f.check("the start")
	f.rest()
	f.check("the end")

	n, k := f.nodes[1], 5
	forged := func(slot uint32) {
		partition, name := f.key(k)
		header := aggregator.NewHeader(n.id, time.Now(), f.width()).Append(nil)
		body := (&aggregator.Push{First: slot, Counts: []uint16{999}}).AppendBody(nil)
		if err := f.redis.FCall(background, f.lua+"_push", []string{clockKey(partition), name}, header, body).Err(); err != nil {
			t.Fatal(err)
		}
	}
	end := f.settled()
	forged(end)
	if wrong := f.compareCounts(end); len(wrong) != 1 || !strings.Contains(wrong[0], prefix(k).String()) {
		t.Errorf("one count is wrong, and these are found: %q", wrong)
	}
	_, name := f.key(k)
	f.redis.Del(background, name)
	if wrong := f.compareCounts(end); len(wrong) < 2 {
		t.Errorf("a key is gone, and these are found: %q", wrong)
	}
	n.link.Changed(manualOf(prefix(50), n), blocklist.Trust{})
	f.eventually("a block of nobody over the limit to be noticed", func() bool {
		return slices.ContainsFunc(f.compareLists(end), func(s string) bool { return strings.Contains(s, prefix(50).String()) })
	})
}
