package algorithms

import (
	"fmt"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
)

// Claim is what a document says that the project grew from, beside what is found.
type Claim struct {
	Says, Found string
	True        bool
}

// claims computes those that no traffic is needed for.
func claims() []Claim {
	return []Claim{workedExample(), bucketsForget(), bucketsRemember(), bucketError(), twoCountersExploited(), fixedBoundary()}
}

const (
	minute      = time.Minute
	fiveMinutes = 5 * time.Minute
)

// epoch is when the claims' requests begin: the beginning of all windows.
var epoch = clock(traffic.Request{})

// send sends one client's requests at once, and returns how many were allowed
// and what the limiter said last.
func send(l limiter.Local, at time.Duration, n int) (allowed int, last limiter.Decision) {
	for range n {
		if last, _ = l.Take(epoch+at, 0, 1); last.Allowed {
			allowed++
		}
	}
	return allowed, last
}

// workedExample is AWS WAF's: 2,000 in 5 minutes; 1,950 are spread over the
// window, then 100 come in a second.
func workedExample() Claim {
	refused := func(guard string) (first int) {
		g, _ := rules.ParseGuard(guard)
		l := limiter.NewRing(2000, g, fiveMinutes)
		for first = 1; ; first++ {
			at := time.Duration(first-1) * 290 * time.Second / 1950
			if first > 1950 {
				at = 294*time.Second + time.Duration(first-1951)*10*time.Millisecond
			}
			if allowed, _ := send(l, at, 1); allowed == 0 {
				return first
			}
		}
	}
	one := refused("1")
	return Claim{True: one == 2001,
		Says: "2,000 in 5 minutes: 1,950 requests spread over the window pass, and 100 in one second then trigger mitigation",
		Found: fmt.Sprintf("guard 1 refuses from request %d on; guard 0.95, which the document asks for too, from %d on",
			one, refused("0.95"))}
}

// bucketsForget: the bucket that the pseudo-code takes away is the one just
// filled.
func bucketsForget() Claim {
	l := limiter.NewBuckets(2000, minute)
	send(l, 0, 1000)
	_, last := send(l, time.Second, 1)
	return Claim{Says: "the pseudo-code keeps the running sum of the last 60 buckets",
		Found: fmt.Sprintf("1,000 requests in one second and one in the next: it counts %.0f, exact is 1,001", last.Count), True: last.Count == 1001}
}

// bucketsRemember: an index mod 60 is the same after a whole turn.
func bucketsRemember() Claim {
	l := limiter.NewBuckets(2000, minute)
	send(l, 0, 1000)
	_, last := send(l, minute, 1)
	return Claim{Says: "the pseudo-code drops what is older than 60 buckets",
		Found: fmt.Sprintf("1,000 requests, then 60 buckets of silence, then one: it counts %.0f, exact is 1", last.Count), True: last.Count == 1}
}

// bucketError: 100 a second against buckets of 5 s.
func bucketError() Claim {
	const perSecond, limit = 100, 1 << 20
	l, exact := limiter.NewRing(limit, rules.Guard(1_000_000), fiveMinutes), limiter.NewSlidingLog(limit, fiveMinutes)
	least, greatest := 0.0, 0.0
	for n := range 400 * perSecond {
		at := time.Duration(n) * time.Second / perSecond
		_, got := send(l, at, 1)
		_, want := send(exact, at, 1)
		least, greatest = min(least, got.Count-want.Count), max(greatest, got.Count-want.Count)
	}
	return Claim{Says: "with 5 second buckets and 100 requests a second the error can reach plus or minus 500",
		Found: fmt.Sprintf("the ring's count is off by %.0f to %+.0f", least, greatest), True: least >= -500 && greatest == 500}
}

// twoCountersExploited: 100 late in a window, then whatever is let through.
func twoCountersExploited() Claim {
	l := limiter.NewTwoCounters(100, minute)
	inside, _ := send(l, 59900*time.Millisecond, 100)
	for at := minute; at < 59900*time.Millisecond+minute; at += 10 * time.Millisecond {
		allowed, _ := send(l, at, 1)
		inside += allowed
	}
	return Claim{Says: "two counters allow briefly a few requests too many, which cannot be deliberately exploited",
		Found: fmt.Sprintf("100 at 59.9 s and as many as are let through until 119.89 s: %d inside one window of 60 s, limit 100", inside), True: inside <= 110}
}

// fixedBoundary: a limit on each side.
func fixedBoundary() Claim {
	l := limiter.NewFixedWindow(100, minute)
	before, _ := send(l, minute-time.Second, 100)
	after, _ := send(l, minute+time.Second, 100)
	return Claim{Says: "a fixed window accepts double its limit across a boundary",
		Found: fmt.Sprintf("%d within two seconds, limit 100 a minute", before+after), True: before+after == 200}
}

// memoryClaims are those about bytes, by what was measured.
func (r *Result) memoryClaims() []Claim {
	largest := func(name string, dense bool) (held Held) { // the largest table that was measured
		for _, m := range r.Memory {
			if m.Limiter == name && m.Slots > 1 == dense && m.Clients <= documented {
				held = m
			}
		}
		return held
	}
	bytes := func(name string, dense bool) float64 { return largest(name, dense).BytesAKey } // of a key
	from := func(name string, dense bool) string {
		if n := largest(name, dense).Clients; n != documented {
			return fmt.Sprintf(": extrapolated from %d keys", n)
		}
		return ""
	}
	const giga = 1e9 / float64(documented)
	cold, dense, two, fixed := bytes(ring, false), bytes(ring, true), bytes("two-counters", false), bytes("fixed-window", false)
	return []Claim{
		{Says: "10 million keys of 60 buckets take 2 to 3 GB", True: dense/giga >= 2 && dense/giga <= 3,
			Found: fmt.Sprintf("%.1f GB where every key has its 60 slots (%.0f bytes a key%s), %.1f GB where each came once (%.0f%s)",
				dense/giga, dense, from(ring, true), cold/giga, cold, from(ring, false))},
		{Says: "10 million fixed windows take 160 MB", True: fixed <= 16,
			Found: fmt.Sprintf("%.0f MB in a map of Go (%.0f bytes a key%s)", 1000*fixed/giga, fixed, from("fixed-window", false))},
		{Says: "two counters take 16 bytes a user, the same as a fixed window", True: two <= 16,
			Found: fmt.Sprintf("%.0f bytes in a map of Go", two)},
	}
}
