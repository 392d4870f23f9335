package traffic

import (
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// small returns the scenarios of a slot, with a botnet that a test has time for.
func small(slot time.Duration) []Scenario { return Scenarios(Options{Slot: slot, Botnet: 20_000}) }

// Each scenario is in order of time, in whole microseconds, on nodes that there
// are, and the same for the same seed.
func TestScenarios(t *testing.T) {
	for _, slot := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second} {
		names := map[string]bool{}
		for _, s := range small(slot) {
			if names[s.Name] || strings.ContainsAny(s.Name, " \t,") || s.What == "" || s.Limit == 0 || s.Window != edgeguard.Slots*slot || s.Nodes < 1 {
				t.Errorf("%+v", s)
			}
			names[s.Name] = true
			all := slices.Collect(s.Requests(7))
			if !slices.Equal(all, slices.Collect(s.Requests(7))) {
				t.Errorf("%s: the same seed gives another", s.Name)
			}
			if slices.Equal(all, slices.Collect(s.Requests(8))) {
				t.Errorf("%s: another seed gives the same", s.Name)
			}
			if !slices.IsSortedFunc(all, func(a, b Request) int { return int(a.At - b.At) }) || all[0].At < 0 {
				t.Errorf("%s is not in order of time", s.Name)
			}
			for _, r := range all {
				if int(r.Node) >= s.Nodes || r.Cost == 0 || r.At%time.Microsecond != 0 {
					t.Fatalf("%s: %+v", s.Name, r)
				}
			}
			if len(all) > 250_000 {
				t.Errorf("%s has %d requests, more than a short run has time for", s.Name, len(all))
			}
		}
	}
}

// peakOf returns the most cost of a client in any window.
func peakOf(s Scenario) map[uint32]uint32 {
	peaks, recent, sums := map[uint32]uint32{}, map[uint32][]Request{}, map[uint32]uint32{}
	for r := range s.Requests(1) {
		log := append(recent[r.Client], r)
		sum := sums[r.Client] + uint32(r.Cost)
		for log[0].At <= r.At-s.Window {
			sum, log = sum-uint32(log[0].Cost), log[1:]
		}
		recent[r.Client], sums[r.Client] = log, sum
		peaks[r.Client] = max(peaks[r.Client], sum)
	}
	return peaks
}

// Each scenario is on the side of its limit that it says.
func TestScenariosCast(t *testing.T) {
	for _, slot := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second} {
		for _, s := range small(slot) {
			over, peaks := 0, peakOf(s)
			for client, peak := range peaks {
				if peak <= s.Limit {
					continue
				}
				over++
				if client >= s.Attackers && s.Name != "nat-crowd" {
					t.Errorf("%s, slot %v: client %d is no attacker and reaches %d", s.Name, slot, client, peak)
				}
			}
			want := int(s.Attackers)
			if s.Name == "brute-under" || s.Name == "botnet" {
				want = 0
			}
			if over != want && s.Name != "nat-crowd" {
				t.Errorf("%s, slot %v: %d of %d clients are over the limit, want %d", s.Name, slot, over, len(peaks), want)
			}
		}
	}
}

func TestBotnetIsAllOfIt(t *testing.T) {
	for _, s := range Scenarios(Options{Botnet: 5000}) {
		if s.Name == "botnet" && (len(peakOf(s)) != 5000 || s.Attackers != 5000) {
			t.Errorf("%d addresses of 5,000", len(peakOf(s)))
		}
	}
}

// Rank k comes about 1/(k+1) as often as rank 0.
func TestZipf(t *testing.T) {
	z, rng, seen := newZipf(100), stream("zipf", 1), make([]int, 100)
	for range 200_000 {
		seen[z.draw(rng)]++
	}
	for _, k := range []int{1, 3, 9, 99} {
		if want := seen[0] / (k + 1); seen[k] < want*8/10 || seen[k] > want*12/10 {
			t.Errorf("rank %d came %d times, want about %d", k, seen[k], want)
		}
	}
}

// What only fleets are run on is drawn as the others are, and is as many in a window as
// it says.
func TestFleets(t *testing.T) {
	const window = time.Minute
	for _, s := range []Scenario{
		Crowd(7, 3, 2, window), Steady(5, 50, 100, window, 2),
		OneWindow(Evenly, 5, 50, 100, window), OneWindow(BothEnds, 5, 50, 100, window), Rush(5, 10, 100, window),
	} {
		all := slices.Collect(s.Requests(7))
		if !slices.Equal(all, slices.Collect(s.Requests(7))) {
			t.Errorf("%s: the same seed gives another", s.Name)
		}
		first, count := map[uint32]time.Duration{}, map[uint32]int{}
		for i, r := range all {
			if int(r.Node) >= s.Nodes || r.Cost != 1 || i > 0 && r.At < all[i-1].At {
				t.Fatalf("%s: %+v", s.Name, r)
			}
			if _, known := first[r.Client]; !known {
				first[r.Client] = r.At
			}
			if r.At-first[r.Client] < window {
				count[r.Client]++
			}
		}
		for client, n := range count {
			if s.Name != "crowd" && s.Name != "rush-10" && (n < 49 || n > 51) {
				t.Errorf("%s: client %d has %d requests in a window", s.Name, client, n)
			}
		}
		if s.Name == "crowd" && (len(all) != 75*7*3+2*2500*5/4 || count[0] < 2300) {
			t.Errorf("crowd: %d requests, %d of an attacker", len(all), count[0])
		}
		if s.Name == "rush-10" && (count[0] != 300 || len(all) != 5*300) {
			t.Errorf("rush: %d requests, %d of a client", len(all), count[0])
		}
	}
}
