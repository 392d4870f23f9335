package tuning

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// judgedTally returns a tally of keys in three groups, and a basis that knows them.
func judgedTally(hostile, benign, unknown []uint32) (*Tally, Basis) {
	tally := NewTally(Config{})
	looks := make(map[edgeguard.Key]Looks)
	i := 0
	for group, peaks := range map[Looks][]uint32{Hostile: hostile, Benign: benign, Unknown: unknown} {
		for _, p := range peaks {
			tally.RecordPeak(key(i), p)
			tally.Events.AddN(p, uint64(p))
			looks[key(i)] = group
			i++
		}
	}
	return tally, Basis{Threshold: 2000, Known: uint64(i), Looks: func(k edgeguard.Key) Looks { return looks[k] }}
}

func TestSuggestBy(t *testing.T) {
	readers := falling(60, 1, 300)
	tests := []struct {
		name                     string
		rule                     uint32
		normal                   uint32
		hostile, benign, unknown []uint32
		threshold                uint32
		keep                     bool
		reason                   string
	}{
		{"the lowest gap above those that are benign", 2000, 0, []uint32{5000, 4000, 300, 200, 190}, readers, nil, 100, false, "the gap between 60 and 190 requests separates 5 addresses: all look hostile; the highest that looks like a customer or a crawler counts 60"},
		{"customers that the rule refuses, and no abuser", 50, 0, nil, readers, nil, 100, false, "no abuser is visible, and the rule as it is refuses "},
		{"clean", 2000, 0, nil, readers, []uint32{40, 50}, 0, false, "no abuser is visible: the highest of 302 addresses counts 60 requests"},
		{"an office far above the rest", 2000, 0, nil, append([]uint32{900}, readers...), nil, 0, false, "no abuser is visible"},
		{"ten lines", 2000, 0, []uint32{9}, []uint32{1}, nil, 0, false, "too little to say"},
		{"attackers among customers", 2000, 0, []uint32{50, 50}, readers, nil, 0, false, "no threshold separates 2 addresses that look hostile from the rest"},
		{"the rule separates them already", 100, 0, []uint32{500, 400}, readers, nil, 100, true, "no threshold does better than the rule as it is"},
		{"the rule refuses both", 40, 0, []uint32{50, 45}, readers, nil, 40, true, "the rule refuses 2 that look hostile and "},
		{"the rule refuses customers for nothing", 40, 0, []uint32{500}, readers, nil, 200, false, "the gap between 60 and 500 requests separates 1 address: it looks hostile; "},
		{"too many of them unknown, and not far above", 2000, 0, []uint32{150}, readers, []uint32{160, 170}, 0, false, "no threshold separates"},
		{"a scraper with guessers, all far above", 2000, 0, []uint32{300, 310}, readers, []uint32{1900}, 200, false, "the gap between 60 and 300 requests separates 3 addresses: 2 look hostile and 1 unknown"},
		{"one guesser below many of whom nothing is known", 2000, 0, []uint32{300}, readers, []uint32{1900, 1800}, 0, false, "no threshold separates"},
		{"one unknown among many", 2000, 0, []uint32{500, 510, 520}, readers, []uint32{600}, 200, false, "the gap between 60 and 500 requests separates 4 addresses: 3 look hostile and 1 unknown"},
		{"a flood of nothing but the front page", 2000, 0, nil, readers, []uint32{1500}, 0, false, "nothing says what 1 address above 60 are, and no other counts a third of that"},
		{"a normal day is higher than this one's customers", 6000, 250, []uint32{5000, 300, 200}, readers, nil, 1000, false, "the gap between 300 and 5,000 requests separates 1 address: it looks hostile; on the normal day the highest counts 250"},
		{"few who log in", 20, 0, []uint32{400, 11, 8, 7, 6, 5}, []uint32{1, 1, 1}, slices.Repeat([]uint32{1}, 50), 10, false, "the gap between 8 and 11 requests separates 2 addresses: all look hostile"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tally, basis := judgedTally(tt.hostile, tt.benign, tt.unknown)
			basis.Threshold, basis.Normal = tt.rule, tt.normal
			got := tally.SuggestBy(nil, basis)
			if got.Threshold != tt.threshold || got.Keep != tt.keep || !strings.HasPrefix(got.Reason, tt.reason) {
				t.Errorf("got threshold %d, keep %v: %s", got.Threshold, got.Keep, got.Reason)
			}
		})
	}
}

// People who are not in the log are spared, and it says so.
func TestPeople(t *testing.T) {
	tally, basis := judgedTally([]uint32{5000, 4000, 300, 200, 190}, falling(60, 1, 300), nil)
	for people, want := range map[uint32]struct {
		threshold uint32
		keep      bool
		reason    string
	}{
		0:    {100, false, "the gap between 60 and 190 requests"},
		50:   {100, false, "the gap between 60 and 190 requests separates 5 addresses: all look hostile; the highest that looks like a customer or a crawler counts 60, and people count up to 50 (office)"},
		150:  {250, false, "the gap between 200 and 300 requests separates 3 addresses"},
		1266: {2000, true, "a limit of 100 requests would catch 3 more that look hostile, but people count up to 1,266 requests"},
		4900: {2000, true, "a limit of 100 requests would catch 3 more that look hostile, but people count up to 4,900 requests (office), and a limit leaves them room from 7,350 on: it stays"},
	} {
		basis.People = rules.People{Count: people, Scene: "office"}
		got := tally.SuggestBy(nil, basis)
		if want.reason != "" && (got.Threshold != want.threshold || got.Keep != want.keep || !strings.HasPrefix(got.Reason, want.reason)) {
			t.Errorf("%d: got threshold %d, keep %v: %s", people, got.Threshold, got.Keep, got.Reason)
		}
		if got.Threshold > 0 && !got.Keep && got.Limit < tally.limitWithRoom(people) {
			t.Errorf("%d: a limit of %d leaves no room", people, got.Limit)
		}
	}
}

// TestNeverWorse draws groups at random: no proposal catches fewer that are hostile or
// more that are benign than the rule as it is, and none catches a customer that the
// rule spares.
func TestNeverWorse(t *testing.T) {
	r := newRand(t)
	draw := func(n int, highest int) []uint32 {
		peaks := make([]uint32, r.IntN(n+1))
		for i := range peaks {
			peaks[i] = 1 + uint32(r.IntN(1+r.IntN(highest)))
		}
		return peaks
	}
	proposed := 0
	for range 3000 {
		tally, basis := judgedTally(draw(8, 3000), draw(60, 300), draw(20, 600))
		basis.Threshold = 1 + uint32(r.IntN(500))
		got := tally.SuggestBy(nil, basis)
		if got.Keep || got.Threshold == 0 {
			continue
		}
		proposed++
		j := tally.judge(basis)
		now, then := j.above(basis.Threshold), j.above(got.Limit)
		if then.Benign > now.Benign || then.Hostile < now.Hostile || then == now {
			t.Fatalf("rule %d %+v, proposed %d %+v: %s", basis.Threshold, now, got.Threshold, then, got.Reason)
		}
	}
	if proposed < 300 {
		t.Errorf("%d proposals say little", proposed)
	}
}

// Clean traffic of every shape is left in peace.
func TestCleanIsLeftInPeace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		var readers []uint32
		for range 800 {
			readers = append(readers, 1+uint32(r.ExpFloat64()*40))
		}
		tally, basis := judgedTally(nil, readers, nil)
		if got := tally.SuggestBy(nil, basis); got.Threshold != 0 {
			t.Fatalf("%+v", got)
		}
	}
}
