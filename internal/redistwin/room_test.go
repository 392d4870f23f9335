package redistwin

import (
	"testing"

	"edgeguard/aggregator"
)

// TestEvictionIsHarmless: nodes that do not know evictions read the change as a
// valid record that has ended, and drop it immediately.
func TestEvictionIsHarmless(t *testing.T) {
	second := start.Unix()
	r, err := aggregator.CheckRecord("203.0.113.7/32", gone(second), start)
	if err != nil || r.Block.Until.After(start) || r.Block.Version != 0 || r.Block.Lifted || r.Block.Allow {
		t.Errorf("%+v, %v", r, err)
	}
	l := aggregator.NewLedger()
	l.Apply("203.0.113.7/32", gone(second), aggregator.Judged{})
	if got := l.Digest(second); got != "0000000000000000" || l.Len() != 0 {
		t.Errorf("digest %s of %d", got, l.Len())
	}
}
