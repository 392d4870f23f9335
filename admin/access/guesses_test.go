package access

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

// numbered returns the i-th address of 10.0.0.0/8, or of as many /64.
func numbered(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 10<<24|uint32(i))
	return netip.AddrFrom4(b)
}

// Wait, Right and Wrong are the parts of Try.
func (g *Guesses) Wait(addr netip.Addr, now time.Time) time.Duration { return g.wait(place(addr), now) }

func (g *Guesses) Right(addr netip.Addr, now time.Time) { g.Try(addr, 0, true, now) }

func (g *Guesses) Wrong(addr netip.Addr, secret uint64, now time.Time) bool {
	_, report := g.Try(addr, secret, false, now)
	return report
}

// Who waits does not learn whether a secret is right, and what is shown while an
// address waits does not count.
func TestWhoWaitsLearnsNothing(t *testing.T) {
	g := newGuesses()
	for i := range fewGuesses {
		g.Wrong(numbered(1), uint64(1+i), start)
	}
	for i, right := range []bool{false, true, false} {
		if wait, report := g.Try(numbered(1), uint64(100+i), right, start); wait != time.Minute || report {
			t.Errorf("right %t: waits %v, reported %t", right, wait, report)
		}
	}
	if wait, _ := g.Try(numbered(1), 0, true, start.Add(time.Minute)); wait != 0 {
		t.Errorf("waits %v after its minute", wait)
	}
}

func TestGuessesWait(t *testing.T) {
	g, now, guesser, other := newGuesses(), start, numbered(1), numbered(2)
	guess := uint64(0)
	var waits []time.Duration
	for len(waits) < 7 {
		if wait := g.Wait(guesser, now); wait > 0 {
			waits = append(waits, wait)
			now = now.Add(wait)
			continue
		}
		guess++
		g.Wrong(guesser, guess, now)
	}
	if guess != 7*fewGuesses || waits[0] != time.Minute || waits[1] != 2*time.Minute || waits[6] != longestWait {
		t.Errorf("%d guesses, waits %v", guess, waits)
	}
	if g.Wait(other, now) != 0 {
		t.Error("another address waits, too")
	}
	if now = now.Add(forgiven); g.Wait(guesser, now) != 0 {
		t.Error("still waits after an hour")
	}
}

// A program with an old token asks all day and has nobody wait.
func TestAnOldTokenIsNoGuess(t *testing.T) {
	g := newGuesses()
	for i := range 100_000 {
		g.Wrong(numbered(i%20), 4711, start.Add(time.Duration(i)*time.Second))
	}
	end := start.Add(100_000 * time.Second)
	if wait := max(g.Wait(numbered(1), end), g.Wait(numbered(9999), end)); wait != 0 {
		t.Errorf("waits %v", wait)
	}
}

// An IPv6 client has a /64 to guess from, and it is one place.
func TestOneNetworkIsOneGuesser(t *testing.T) {
	g := newGuesses()
	addr := netip.MustParseAddr("2001:db8::")
	for i := range fewGuesses {
		addr = addr.Next()
		g.Wrong(addr, uint64(1+i), start)
	}
	if g.Wait(netip.MustParseAddr("2001:db8::ffff"), start) == 0 || g.Wait(netip.MustParseAddr("2001:db8:0:1::1"), start) != 0 {
		t.Error("the /64 is not what waits")
	}
}

// Any five wrong secrets within a minute have an address wait, and not five in
// more than one.
func TestAnyMinuteCounts(t *testing.T) {
	g := newGuesses()
	for i, second := range []int{0, 58, 59, 60, 61} {
		g.Wrong(numbered(1), uint64(1+i), start.Add(time.Duration(second)*time.Second))
	}
	at := start.Add(61 * time.Second)
	if g.Wait(numbered(1), at) != 0 {
		t.Error("waits after four in a minute")
	}
	if g.Wrong(numbered(1), 6, at); g.Wait(numbered(1), at) != time.Minute {
		t.Error("does not wait after five in a minute")
	}
}

// A guesser is reported once until it was quiet for an hour, and a botnet fills no
// audit.
func TestGuessersAreReportedOnce(t *testing.T) {
	g, now, reports := newGuesses(), start, 0
	for i := range 4 * fewGuesses {
		now = now.Add(g.Wait(numbered(1), now))
		if g.Wrong(numbered(1), uint64(1+i), now) {
			reports++
		}
	}
	if reports != 1 {
		t.Errorf("one guesser: %d reports", reports)
	}
	for i := range 500 * fewGuesses {
		if g.Wrong(numbered(2+i/fewGuesses), uint64(1+i), now) {
			reports++
		}
	}
	if reports != mostReports {
		t.Errorf("many guessers: %d reports in an hour", reports)
	}
	now = now.Add(forgiven)
	for i := range fewGuesses {
		if g.Wrong(numbered(1), uint64(1000+i), now) {
			reports++
		}
	}
	if reports != mostReports+1 {
		t.Error("the same guesser on another day is not reported")
	}
}

// A botnet has strangers wait, but no address that was right before, and takes
// bounded memory.
func TestManyGuessersLockOutNoOperator(t *testing.T) {
	g, office := newGuesses(), netip.MustParseAddr("192.0.2.1")
	g.Right(office, start)
	for i := range mostGuessers + 200 {
		g.Wrong(numbered(i), uint64(1+i), start.Add(time.Minute))
		if g.Wait(office, start.Add(time.Minute)) != 0 {
			t.Fatalf("after %d guesses the operator waits", i+1)
		}
	}
	if g.Wait(numbered(1<<20), start.Add(time.Minute)) == 0 {
		t.Error("strangers do not wait")
	}
	for i := range 3 * mostKnown {
		g.Right(numbered(i), start.Add(time.Duration(i)))
	}
	if len(g.by) > mostGuessers || len(g.known) > mostKnown {
		t.Errorf("%d and %d addresses are kept", len(g.by), len(g.known))
	}
}
