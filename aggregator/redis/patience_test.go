package redis

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/aggregator"
)

// TestPatience: an exchange that is slow is borne as long as Redis answers others, some times in
// a row. One that began after Redis hung is not, nor any other error.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := fmt.Errorf("push: %w", &pushError{calls: 1, unanswered: 1, err: context.DeadlineExceeded})
		p := patience{wire: &wire{config: &Config{Timeout: time.Second}, stats: &counters{}}}
		bears := func(when string, err error, want bool) {
			t.Helper()
			if got := p.bears(err); got != want {
				t.Errorf("%s: borne: %t", when, got)
			}
		}
		bears("nothing was ever answered", slow, false)
		p.stats.answer.noteAnswer()
		bears("no error", nil, false)
		bears("Redis refuses", errors.New("NOPERM"), false)
		time.Sleep(700 * time.Millisecond)
		bears("Redis has just answered", slow, true)
		bears("a timeout of the socket", &pushError{calls: 1, unanswered: 1, err: os.ErrDeadlineExceeded}, true)
		bears("part was answered", nil, false)
		time.Sleep(300 * time.Millisecond) // as long as an exchange that began when Redis hung
		bears("Redis hangs", slow, false)
		p.stats.answer.noteAnswer()
		bears("no error", nil, false)
		for range mostBorne {
			bears("slow", slow, true)
		}
		bears("one master of a Cluster hangs", slow, false)
		bears("no error", nil, false)
		bears("another slow one", slow, true)
	})
}

// TestPatienceIdleTurns: what the loop does between slow rounds without asking Redis, such as a
// look at what it left to others, does not start the row again.
func TestPatienceIdleTurns(t *testing.T) {
	slow := &pushError{calls: 1, unanswered: 1, err: context.DeadlineExceeded}
	w := &wire{config: &Config{Timeout: time.Minute}, stats: &counters{}}
	p := pushLoop{wire: w, slow: patience{wire: w}}
	for range mostBorne {
		w.stats.answer.noteAnswer()
		if err := p.check(t.Context(), slow); err != nil {
			t.Fatal(err)
		}
		if err := p.check(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if p.check(t.Context(), slow) == nil {
		t.Error("a Redis that answers no push is borne without end")
	}
}

// TestWatchQueue: a key waits once, in order and within bounds, and may come again once it was
// taken.
func TestWatchQueue(t *testing.T) {
	q := newWatchQueue()
	key := func(i int) aggregator.Key {
		return aggregator.Key{Meter: uint64(i), Prefix: netip.MustParsePrefix("203.0.113.9/32")}
	}
	for range 3 {
		for i := range maxWatched {
			if !q.addKey(key(i)) {
				t.Fatalf("no room for %d", i)
			}
		}
	}
	if q.addKey(key(maxWatched)) || !q.addKey(key(0)) {
		t.Error("there is room for one more, or none for one that waits")
	}
	got := 0
	for q.len() > 0 {
		select {
		case <-q.news:
		default:
			t.Fatal("some wait, and nobody is told")
		}
		for _, k := range q.takeFirst(batch) {
			if k != key(got) {
				t.Fatalf("%d comes instead of %d", k.Meter, got)
			}
			got++
		}
	}
	if got != maxWatched || !q.addKey(key(0)) || q.len() != 1 {
		t.Errorf("%d keys, want %d; then %d", got, maxWatched, q.len())
	}
}
