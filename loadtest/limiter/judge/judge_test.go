package judge

import (
	"math/rand/v2"
	"testing"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
)

// seen is one decision, as a twin remembers it: it forgets nothing.
type seen struct {
	now time.Duration
	r   traffic.Request
	d   limiter.Decision
}

// twin computes a sentence anew from all decisions, each from all before it.
func twin(s *traffic.Scenario, since func(now, window time.Duration) time.Duration, all []seen) Sentence {
	found := Sentence{Limit: s.Limit, ShortestMS: -1}
	for i, v := range all {
		cost := func(to int, from time.Duration) (sum uint32) { // of the client, allowed at from or later
			for _, o := range all[:to] {
				if o.d.Allowed && o.r.Client == v.r.Client && o.now >= from {
					sum += uint32(o.r.Cost)
				}
			}
			return sum
		}
		begins := v.now - s.Window + 1
		room := cost(i, begins)+uint32(v.r.Cost) <= s.Limit
		found.Requests++
		if v.d.Allowed {
			found.Allowed++
			found.Most = max(found.Most, cost(i+1, begins))
		}
		if v.d.Allowed && !room {
			found.Over++
			for _, o := range all[:i+1] {
				span := int64((v.now - o.now) / time.Millisecond)
				if o.now >= begins && cost(i+1, o.now) > s.Limit && (found.ShortestMS < 0 || span < found.ShortestMS) {
					found.ShortestMS = span
				}
			}
		}
		if !v.d.Allowed && room {
			found.RefusedFalsely++
		}
		exact := cost(i+1, begins)
		off := v.d.Count - float64(exact)
		found.Least, found.Greatest = min(found.Least, off), max(found.Greatest, off)
		if since != nil {
			sure := cost(i+1, since(v.now, s.Window))
			found.Bound = max(found.Bound, exact-sure)
			if v.d.Count < float64(sure) || off > 0 {
				found.Beyond++
			}
		}
	}
	return found
}

func TestOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for run := range 150 {
		s := &traffic.Scenario{Limit: 1 + rng.Uint32N(12), Window: time.Minute, Attackers: rng.Uint32N(3)}
		algorithms := limiter.Algorithms()
		since := algorithms[run%len(algorithms)].Since
		j, now := New(s, since), time.Duration(0)
		var all []seen
		for range 150 {
			switch rng.IntN(4) {
			case 0:
				now += time.Duration(rng.Int64N(int64(20 * time.Second)))
			case 1:
				now += time.Second
			}
			v := seen{now, traffic.Request{Client: rng.Uint32N(3), Cost: uint16(1 + rng.IntN(4))}, limiter.Decision{Allowed: rng.IntN(3) > 0, Count: float64(rng.IntN(20))}}
			all = append(all, v)
			j.See(v.now, v.r, v.d)
		}
		if got, want := j.Sentence(), twin(s, since, all); got != want {
			t.Fatalf("seed %d, run %d, limit %d:\n got %+v\nwant %+v", seed, run, s.Limit, got, want)
		}
	}
}

// A request leaves the window when it is as old as that, and not a moment before.
func TestWindowEnds(t *testing.T) {
	for later, want := range map[time.Duration]Sentence{
		time.Minute:     {Requests: 2, Allowed: 2, Most: 1, Limit: 1, ShortestMS: -1},
		time.Minute - 1: {Requests: 2, Allowed: 2, Most: 2, Limit: 1, ShortestMS: 59_999, Over: 1},
	} {
		j := New(&traffic.Scenario{Limit: 1, Window: time.Minute}, nil)
		for i, now := range []time.Duration{0, later} {
			count := float64(1)
			if i == 1 && later < time.Minute {
				count = 2
			}
			j.See(now, traffic.Request{Cost: 1}, limiter.Decision{Allowed: true, Count: count})
		}
		if got := j.Sentence(); got != want {
			t.Errorf("%v later:\n got %+v\nwant %+v", later, got, want)
		}
	}
}

// slowly is a limiter that allows everything from a time on.
type slowly struct{ from time.Duration }

func (s slowly) Take(time.Duration, uint32, uint16) (limiter.Decision, error) {
	return limiter.Decision{}, nil
}
func (s slowly) Peek(at time.Duration, _ uint32, _ uint16) bool { return at >= s.from }

func TestWaits(t *testing.T) {
	l, now := slowly{from: 100 * time.Second}, 70*time.Second
	if got := Wait(l, time.Minute, now, 0, 1); got != 30*time.Second {
		t.Errorf("wait %v, want 30s", got)
	}
	var w Waits
	for _, said := range []time.Duration{limiter.Silent, 30 * time.Second, 29 * time.Second, 27 * time.Second, 31 * time.Second, 30*time.Second + 500} {
		w.Refused(l, time.Minute, now, 0, 1, limiter.Decision{RetryAfter: said})
	}
	if want := (Waits{Asked: 6, Silent: 1, Early: 2, EarlyS: 3, Late: 1, LateS: 1}); w != want {
		t.Errorf("%+v, want %+v", w, want)
	}
}
