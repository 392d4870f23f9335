package tuning

import (
	"bufio"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"time"

	"edgeguard/internal/realdata"
	"edgeguard/internal/words"

	"edgeguard/rules"
)

// wordpress is the head of the peaks of the WordPress log of 2016; its tail
// falls on to 1 over 8,799 addresses.
var wordpress = append([]uint32{386, 386, 386, 386, 363, 264, 260, 228, 226, 203, 197, 197, 193, 193, 169, 165, 146, 146, 142,
	124, 124, 123, 122, 122, 121, 120, 120, 116, 116, 112, 112, 111, 109, 108, 107, 107, 107, 106, 105, 104}, falling(100, 1, 1000)...)

// falling returns n peaks that fall steadily from high to low.
func falling(high, low float64, n int) []uint32 {
	peaks := make([]uint32, n)
	for i := range peaks {
		peaks[i] = uint32(math.Round(high * math.Pow(low/high, float64(i)/float64(n-1))))
	}
	return peaks
}

// pareto returns the expected peaks of a tail in which they fall as rank^-index.
func pareto(highest, index float64, n int) []uint32 {
	peaks := make([]uint32, n)
	for i := range peaks {
		peaks[i] = uint32(max(1, math.Round(highest*math.Pow(float64(i+1), -index))))
	}
	return peaks
}

func TestSuggest(t *testing.T) {
	guard := func(threshold uint32) uint32 { return (threshold*95 + 99) / 100 }
	tests := []struct {
		name      string
		peaks     []uint32
		limitOf   LimitOf
		gap       Gap
		threshold uint32
		reason    string // its beginning
	}{
		{"WordPress", wordpress, nil, Gap{264, 363, 5}, 300, "the gap between 264 and 363 requests separates 5 addresses; a limit of 300 requests denies "},
		{"WordPress, guarded", wordpress, guard, Gap{264, 363, 5}, 300, "the gap between 264 and 363 requests separates 5 addresses; a limit of 285 requests (threshold 300) denies "},
		{"nothing", nil, nil, Gap{}, 0, "nothing was counted, so there is nothing to suggest"},
		{"one key", []uint32{500}, nil, Gap{}, 0, "too little to say: 1 address cannot be compared with others"},
		{"two keys", []uint32{1000, 10}, nil, Gap{}, 0, "too little to say: 2 addresses cannot be compared with others"},
		{"ten lines", append([]uint32{30}, slices.Repeat([]uint32{1}, 20)...), nil, Gap{}, 0, "too little to say: fewer than 100 requests were counted"},
		{"all equal", slices.Repeat([]uint32{50}, 5000), nil, Gap{}, 0, "no abuser is visible: the highest of 5,000 addresses counts 50 requests, and no gap separates a few from the rest; a threshold of 80 leaves all of them room"},
		{"many tiny peaks", append(slices.Repeat([]uint32{2}, 5), slices.Repeat([]uint32{1}, 5000)...), nil, Gap{}, 0, "no abuser is visible"},
		{"one a little higher than many ones", append([]uint32{6}, slices.Repeat([]uint32{1}, 5000)...), nil, Gap{}, 0, "no abuser is visible"},
		{"one far above many ones", append([]uint32{100}, slices.Repeat([]uint32{1}, 5000)...), nil, Gap{1, 100, 1}, 10, "the gap between 1 and 100 requests separates 1 address; "},
		{"heavy tail", pareto(5000, 1, 3000), nil, Gap{}, 0, "no abuser is visible: the highest of 3,000 addresses counts 5,000 requests"},
		{"heavier tail, few keys", pareto(5000, 1.7, 60), nil, Gap{}, 0, "no abuser is visible"},
		{"steady fall", falling(400, 1, 3000), nil, Gap{}, 0, "no abuser is visible"},
		{"botnet of equal strength", append(falling(2000, 1900, 500), falling(90, 1, 5000)...), nil, Gap{90, 1900, 500}, 400, "the gap between 90 and 1,900 requests separates 500 addresses; "},
		{"most of them attack: a gap, but not of a few", append(slices.Repeat([]uint32{900}, 60), falling(30, 1, 40)...), nil, Gap{}, 0, "no abuser is visible"},
		{"an attacker beyond any limit", append([]uint32{3_000_000}, slices.Repeat([]uint32{70_000}, 20)...), nil, Gap{}, 0, "no abuser is visible"},
		{"the gap begins under the highest limit", append([]uint32{3_000_000}, slices.Repeat([]uint32{50_000}, 20)...), nil, Gap{50_000, 3_000_000, 1}, 60_000, "the gap"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tally := NewTally(Config{})
			for i, p := range tt.peaks {
				tally.Event(p)
				tally.RecordPeak(key(i), p)
			}
			got := tally.Suggest(tt.limitOf, rules.People{})
			if got.Gap != tt.gap || got.Threshold != tt.threshold || !strings.HasPrefix(got.Reason, tt.reason) {
				t.Errorf("got threshold %d, gap %v: %s", got.Threshold, got.Gap, got.Reason)
			}
			if got.Threshold != 0 && got.Outcome != tally.Outcome(got.Threshold, tt.limitOf) {
				t.Errorf("outcome %+v", got.Outcome)
			}
		})
	}
}

// TestSuggestSeldomFooled draws tails without abusers, and counts how often
// chance alone passes for a gap. The seed is fixed: of random ones, one in some
// 100,000 exceeds the bound.
func TestSuggestSeldomFooled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	tails := map[string]func() float64{
		"pareto":      func() float64 { return 5 * math.Pow(1-r.Float64(), -0.5) },
		"exponential": func() float64 { return 1 + r.ExpFloat64()*40 },
		"lognormal":   func() float64 { return math.Exp(2 + r.NormFloat64()) },
	}
	for name, draw := range tails {
		fooled := 0
		for range 200 {
			tally := NewTally(Config{})
			for i := range 2000 {
				tally.RecordPeak(key(i), uint32(draw()))
			}
			if tally.Suggest(nil, rules.People{}).Gap != (Gap{}) {
				fooled++
			}
		}
		t.Logf("%s: %d of 200", name, fooled)
		if fooled > 100 {
			t.Errorf("%s: chance passed for a gap %d times of 200", name, fooled)
		}
	}
}

// TestSuggestFindsPlanted plants abusers three times above a tail without a
// gap of its own.
func TestSuggestFindsPlanted(t *testing.T) {
	r := newRand(t)
	for range 200 {
		top := uint32(100 + r.IntN(1000))
		abusers := 1 + r.IntN(40)
		peaks := falling(float64(top), 1, 500+r.IntN(3000))
		for range abusers {
			peaks = append(peaks, 3*top+uint32(r.IntN(int(top))))
		}
		r.Shuffle(len(peaks), func(i, j int) { peaks[i], peaks[j] = peaks[j], peaks[i] })
		s := tallyOf(Config{}, peaks...).Suggest(nil, rules.People{})
		if s.Gap.Keys != abusers || s.Gap.Low != top || s.Keys != uint64(abusers) {
			t.Fatalf("%d abusers above %d: %s", abusers, top, s.Reason)
		}
	}
}

func TestSuggestNouns(t *testing.T) {
	peaks := append([]uint32{400}, slices.Repeat([]uint32{4}, 20)...)
	c := Config{Events: "packets", Unit: words.Measure{Each: 4, One: "attempt", Many: "attempts"}, Keys: Noun{"network", "networks"}}
	for people, want := range map[rules.People]string{
		{}:                            "the gap between 1 and 100 attempts separates 1 network; a limit of 10 attempts (threshold 40) denies 75 % of packets",
		{Count: 56, Scene: "office"}:  "the gap between 1 and 100 attempts separates 1 network; a limit of 50 attempts (threshold 200) denies 42 % of packets",
		{Count: 380, Scene: "office"}: "the gap between 1 and 100 attempts separates 1 network, but people count up to 95 attempts (office), and a limit leaves them room from 142.5 on: it stays",
	} {
		if got := tallyOf(c, peaks...).Suggest(nil, people).Reason; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Counts are in units, and what is left of a limit is not allowed.
func TestAmounts(t *testing.T) {
	tally := NewTally(Config{Unit: words.Measure{Each: 4, One: "attempt", Many: "attempts"}})
	for n, want := range map[uint32]string{0: "0", 4: "1", 5: "1.3", 25: "6.3", 14: "3.5", 4004: "1,001"} {
		if got := tally.Unit.Amount(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for limit, want := range map[uint32]string{3: "0 attempts", 7: "1 attempt", 25: "6 attempts", 100: "25 attempts"} {
		if got := tally.Unit.Allowed(limit); got != want {
			t.Errorf("%d: %s, want %s", limit, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0.5: "50 %", 0.0994: "9.9 %", 0.0996: "10 %", 0.004: "0.4 %", 0.00197: "0.2 %", 0.0005: "0.05 %", 0.00013: "0.01 %", 0.00001: "less than 0.01 %"} {
		if got := percent(share); got != want {
			t.Errorf("%v: got %q, want %q", share, got, want)
		}
	}
}

// TestWordPressLog reads the real log with nothing but a slow sliding window,
// and expects the gap that people see in it.
func TestWordPressLog(t *testing.T) {
	tally := NewTally(Config{})
	windows := make(map[string][]int64)
	peaks := make(map[string]uint32)
	var over300 uint64
	eachLine(t, realdata.Path(t, "weblog-wordpress-2016", "access.log.gz"), func(addr string, slot int64) {
		w := append(windows[addr], slot)
		slices.Sort(w) // a few lines are late
		newest := w[len(w)-1]
		for w[0] <= newest-60 {
			w = w[1:]
		}
		windows[addr] = w
		count := uint32(len(w))
		peaks[addr] = max(peaks[addr], count)
		tally.Event(count)
		if count > 300 {
			over300++
		}
	})
	i := 0
	for _, p := range peaks {
		tally.RecordPeak(key(i), p)
		i++
	}
	if o := tally.Outcome(300, nil); o.Events*32 > over300*33 || o.Events*32 < over300*31 {
		t.Errorf("%d events over 300, truly %d", o.Events, over300)
	}
	for threshold, want := range map[uint32]uint64{20: 1157, 50: 183, 100: 49, 200: 10, 300: 5, 500: 0} {
		if o := tally.Outcome(threshold-1, nil); o.Keys != want {
			t.Errorf("%d keys reach %d, want %d", o.Keys, threshold, want)
		}
	}
	s := tally.Suggest(nil, rules.People{})
	t.Logf("%s (%d truly over 300)", s.Reason, over300)
	if s.Threshold != 300 || s.Gap != (Gap{264, 363, 5}) {
		t.Errorf("suggests %d in the gap %v: %s", s.Threshold, s.Gap, s.Reason)
	}
}

func eachLine(t *testing.T, path string, each func(addr string, slot int64)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		addr, rest, _ := strings.Cut(line, " ")
		_, rest, _ = strings.Cut(rest, "[")
		stamp, _, _ := strings.Cut(rest, "]")
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", stamp)
		if err != nil {
			t.Fatal(err)
		}
		each(addr, at.Unix()/5)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkSuggest(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	tally := NewTally(Config{})
	for i := range 100_000 {
		tally.RecordPeak(key(i), uint32(5*math.Pow(1-r.Float64(), -0.5)))
	}
	for b.Loop() {
		tally.Suggest(nil, rules.People{})
	}
}

// TestSuggestAtMost: no limit is proposed that a rule cannot have.
func TestSuggestAtMost(t *testing.T) {
	for _, c := range []struct {
		tail uint32 // of 200 keys; three others have 900
		most uint32
		want bool
	}{{20, 0, true}, {20, 400, true}, {20, 21, true}, {20, 18, false}, {390, 0, true}, {390, 300, false}} {
		tally := NewTally(Config{Most: c.most})
		for i := range uint32(203) {
			peak := max(1, c.tail-i/10)
			if i < 3 {
				peak = 900
			}
			tally.RecordPeak(key(int(i)), peak)
			for range peak {
				tally.Event(peak)
			}
		}
		got := tally.Suggest(nil, rules.People{})
		if (got.Threshold > 0) != c.want || c.most > 0 && got.Limit > c.most {
			t.Errorf("%+v: threshold %d, limit %d: %s", c, got.Threshold, got.Limit, got.Reason)
		}
	}
}
