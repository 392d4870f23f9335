package aggregator

import (
	"net/netip"
	"testing"
	"time"
)

// answeredBy pushes what visitor has and answers with a total.
func answeredBy(t *testing.T, b *bench, now time.Time, total uint32) (Push, Outcome) {
	t.Helper()
	p := b.Collect(now, false)[0]
	return p, b.Answered(&p, Answer{Peak: total, Total: total}, now)
}

// A total brings a key up to its limit of 100 and not over it, until a split has
// proven what of it nodes counted: for the slot of that window.
func TestATotalProvesNothing(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 10)
	p, out := answeredBy(t, b, boot, 5000)
	if !out.Over || out.Renew {
		t.Fatalf("%+v", out)
	}
	for count := uint32(11); count <= 20; count++ {
		if rest := b.hit(visitor, boot, 1); count+rest != 100 {
			t.Fatalf("%d here and %d elsewhere, with nothing proven", count, rest)
		}
	}
	if b.Prove(p.Key, p.NewestSlot(), 100) {
		t.Error("100 is over a limit of 100")
	}
	if rest := b.hit(visitor, boot, 1); rest != 80 { // 100 less what was here when it was proven
		t.Errorf("rest %d, want 80", rest)
	}
	if !b.Prove(p.Key, p.NewestSlot(), 150) {
		t.Error("150 is not over a limit of 100")
	}
	if rest := b.hit(visitor, boot, 1); rest != 150-21 {
		t.Errorf("rest %d, want %d", rest, 150-21)
	}
	next := boot.Add(width * time.Second)
	b.hit(visitor, next, 1)
	answeredBy(t, b, next, 5000)
	if rest := b.hit(visitor, next, 1); rest != 100-24 {
		t.Errorf("rest %d in the next slot, want up to the limit", rest)
	}
	b.Forget(p.Key.Prefix, next)
	if rest := b.hit(visitor, next, 1); rest != 0 {
		t.Errorf("rest %d of what was forgotten", rest)
	}
	if b.Prove(Key{Meter: 1, Prefix: p.Key.Prefix}, p.NewestSlot(), 150) {
		t.Error("a meter that this node does not have")
	}
}

// What is proven may be more than Redis has by now, and does not count then.
func TestAProofIsNoTotal(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 60)
	p, _ := answeredBy(t, b, boot, 110)
	b.Prove(p.Key, p.NewestSlot(), 500)
	if rest := b.hit(visitor, boot, 1); rest != 110-60 {
		t.Errorf("rest %d, want %d", rest, 110-60)
	}
}

// After a step of the clock what was counted before has slots of after: until they have left the
// window, a split proves nothing that lets a rule refuse.
func TestNoProofAfterAStep(t *testing.T) {
	for name, back := range map[string]bool{"back": true, "none": false} {
		b := newBench(t, nil)
		if back {
			b.SetOffset(-10*width*time.Second, boot.Add(-time.Second))
		}
		at := boot.Add(5 * width * time.Second)
		b.hit(visitor, at, 10)
		p, _ := answeredBy(t, b, at, 500)
		if !b.Prove(p.Key, p.NewestSlot(), 500) {
			t.Errorf("%s: 500 is not over the limit", name)
		}
		if rest := b.hit(visitor, at, 1); (rest > 100) == back {
			t.Errorf("%s: rest %d", name, rest)
		}
	}
}

// The split of a key is asked for at once where it is over the limit, after 2, 4 and
// 8 seconds where it proved too little, and each second for a proof alone.
func TestAsk(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 10)
	p, _ := answeredBy(t, b, boot, 5000)
	ask := func(when string, after time.Duration, renew, due, first bool) {
		t.Helper()
		if gotDue, gotFirst := b.AskSplit(p.Key, renew, boot.Add(after)); gotDue != due || gotFirst != first {
			t.Errorf("%s: due %t, first %t; want %t, %t", when, gotDue, gotFirst, due, first)
		}
	}
	ask("first", 0, false, true, true)
	ask("not yet answered", 0, false, true, false)
	ask("a proof alone", 0, true, false, false)
	ask("a proof alone, a second later", time.Second, true, true, false)
	at := time.Second
	for _, wait := range []time.Duration{2, 4, 8, 8} {
		b.Prove(p.Key, p.NewestSlot(), 50)
		ask("too little", at+wait*time.Second-1, false, false, false)
		at += wait * time.Second
		ask("after its wait", at, false, true, false)
	}
	b.Prove(p.Key, p.NewestSlot(), 50)
	ask("too little", at, false, false, false)
	b.Explained(p.Key)
	ask("explained", at, false, true, false)
	b.Prove(p.Key, p.NewestSlot(), 101)
	ask("proven", at, false, true, false)
	if due, _ := b.AskSplit(Key{Meter: 7, Prefix: netip.MustParsePrefix("192.0.2.9/32")}, false, boot); due {
		t.Error("a key that is no suspect")
	}
}

// For a rule that refuses by the total the proof is renewed: at each slot, and as the
// total grows.
func TestRenew(t *testing.T) {
	b := newBench(t, nil)
	b.Totals.meters[0].Renews = 100
	b.hit(visitor, boot, 10)
	p, out := answeredBy(t, b, boot, 200)
	if !out.Renew {
		t.Error("nothing is proven, and no proof is asked for")
	}
	b.Prove(p.Key, p.NewestSlot(), 200)
	renews := func(when string, now time.Time, total uint32, want bool) {
		t.Helper()
		b.hit(visitor, now, 1)
		if _, out := answeredBy(t, b, now, total); out.Renew != want {
			t.Errorf("%s: %+v", when, out)
		}
	}
	renews("all is proven", boot, 201, false)
	renews("it has grown", boot, 300, true)
	renews("the next slot", boot.Add(width*time.Second), 300, true)
	renews("not over the limit", boot.Add(2*width*time.Second), 100, false)
}
