package detector_test

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/rules"
)

// received is a block of someone that another node made, in force here.
func received(b *bench, since time.Time, length time.Duration) {
	block := edgeguard.Block{Prefix: host(someone), Rule: "r", Origin: "edge-2", Since: since, Until: since.Add(length), Version: b.list.Version(host(someone)) + 1}
	if _, err := b.list.Merge(block, since); err != nil {
		panic(err)
	}
	b.Received(since, &block)
}

// A client that two nodes block in turn climbs as on one: also on a node that never saw it,
// or joined late, and not twice for one crossing.
func TestReceivedIsAStep(t *testing.T) {
	spec := rules.Spec{Name: "r", Threshold: 3, BlockFor: 10 * time.Minute, Escalate: []time.Duration{time.Hour, time.Hour, 24 * time.Hour}}
	for _, c := range []struct {
		name   string
		blocks []time.Duration // received one after the other
		want   time.Duration   // of the next, made here
	}{
		{"none", nil, 10 * time.Minute},
		{"the first", []time.Duration{10 * time.Minute}, time.Hour},
		{"the second alone", []time.Duration{time.Hour}, time.Hour},
		{"the first and the second", []time.Duration{10 * time.Minute, time.Hour}, time.Hour},
		{"the first three", []time.Duration{10 * time.Minute, time.Hour, time.Hour}, 24 * time.Hour},
		{"the last alone", []time.Duration{24 * time.Hour}, 24 * time.Hour},
		{"the first again", []time.Duration{10 * time.Minute, 10 * time.Minute}, time.Hour},
	} {
		b := newBench(t, spec)
		at := epoch
		for _, length := range c.blocks {
			received(b, at, length)
			b.Received(at, b.list.BlockOf(at, host(someone))) // the same again
			at = at.Add(length + time.Minute)
		}
		if v := b.send(4, someone, at); v.RetryAfter != c.want {
			t.Errorf("%s: %v, want %v", c.name, v.RetryAfter, c.want)
		}
	}
}

// What is no block of a rule that escalates here is no step, and neither is a second block
// of one crossing: each node makes its own before it has the other's.
func TestReceivedOnce(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 3, BlockFor: 10 * time.Minute, Escalate: []time.Duration{time.Hour, 24 * time.Hour}},
		rules.Spec{Name: "plain", Threshold: 100})
	b.send(4, someone, epoch)
	for _, other := range []edgeguard.Block{
		{Prefix: host(someone), Rule: "r", Since: epoch.Add(time.Second), Until: epoch.Add(11 * time.Minute)},
		{Prefix: host("192.0.2.77"), Rule: "r", Since: epoch, Until: epoch.Add(time.Hour), Lifted: true},
		{Prefix: host("192.0.2.78"), Rule: edgeguard.ManualRule, Since: epoch, Until: epoch.Add(time.Hour)},
		{Prefix: host("192.0.2.79"), Rule: "plain", Since: epoch, Until: epoch.Add(time.Hour)},
		{Prefix: host("192.0.2.80"), Rule: "none such", Since: epoch, Until: epoch.Add(time.Hour)},
	} {
		b.Received(epoch.Add(2*time.Second), &other)
	}
	var all []detector.Step
	for step := range b.Steps() {
		all = append(all, step)
	}
	if len(all) != 1 || all[0].Blocks != 1 || !all[0].Until.Equal(epoch.Add(11*time.Minute)) {
		t.Errorf("steps: %+v", all)
	}
}

// A client that is over the limit here only with what it did before the block of the other
// node stays on its step, as with a block of this node's own.
func TestReceivedCountsFromItsBegin(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 20, Guard: "1", Window: 10 * time.Minute, BlockFor: time.Minute, Escalate: []time.Duration{time.Hour}})
	b.send(15, someone, epoch)
	received(b, epoch, time.Minute)
	if v := b.send(8, someone, epoch.Add(2*time.Minute)); v.RetryAfter > 11*time.Minute {
		t.Errorf("the step is another: %v", v.RetryAfter)
	}
	for step := range b.Steps() {
		if step.Blocks != 1 {
			t.Errorf("%+v", step)
		}
	}
}

// However many blocks others write, the steps of keys that were blocked here stay.
func TestReceivedForgetsNothing(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 3, BlockFor: 10 * time.Minute, Escalate: []time.Duration{time.Hour}})
	b.send(4, someone, epoch)
	for i := range 1<<16 + 1000 {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		b.Received(epoch, &edgeguard.Block{Prefix: netip.PrefixFrom(addr, 32), Rule: "r", Since: epoch, Until: epoch.Add(time.Minute)})
	}
	if v := b.send(4, someone, epoch.Add(11*time.Minute)); v.RetryAfter != time.Hour {
		t.Errorf("the next block lasts %v", v.RetryAfter)
	}
}
