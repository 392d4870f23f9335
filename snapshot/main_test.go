package snapshot

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		writeForEver(path)
	}
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// state is all that one file holds, in the order of the file.
type state struct {
	cut           Cut
	meters        []meterState
	blocks        []Block
	steps         []Step
	positions     []Position
	evidence      []edgeguard.Evidence
	distributions []Distribution
}

type meterState struct {
	Meter
	windows []Window
}

// save writes the state to a file of its own.
func (s *state) save(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state")
	w, err := Create(path, s.cut)
	if err != nil {
		t.Fatal(err)
	}
	s.write(w)
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *state) write(w *Writer) {
	for _, m := range s.meters {
		w.Meter(m.Meter)
		for i := range m.windows {
			w.Window(&m.windows[i])
		}
	}
	for i := range s.blocks {
		w.Block(&s.blocks[i])
	}
	for _, step := range s.steps {
		w.WriteStep(step)
	}
	for _, p := range s.positions {
		w.Position(p)
	}
	for i := range s.evidence {
		w.Evidence(&s.evidence[i])
	}
	for _, one := range s.distributions {
		w.Distribution(one)
	}
}

// bytes is the state as a file's content.
func (s *state) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(s.save(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sink collects what is loaded.
func (s *state) sink() Sink {
	return Sink{
		Meter: func(m Meter) func(*Window) {
			s.meters = append(s.meters, meterState{Meter: m})
			last := &s.meters[len(s.meters)-1]
			return func(w *Window) { last.windows = append(last.windows, *w) }
		},
		Block:    func(b *Block) { s.blocks = append(s.blocks, *b) },
		Step:     func(step Step) { s.steps = append(s.steps, step) },
		Position: func(p Position) { p.Place = append([]byte(nil), p.Place...); s.positions = append(s.positions, p) },
		Evidence: func(e *edgeguard.Evidence) { s.evidence = append(s.evidence, *e) },
		Distribution: func(one Distribution) {
			one.Form = append([]byte(nil), one.Form...)
			s.distributions = append(s.distributions, one)
		},
	}
}

// untouchable fails the test when anything is passed on.
func untouchable(t testing.TB) Sink {
	return Sink{
		Meter:        func(m Meter) func(*Window) { t.Errorf("got meter %v", m); return nil },
		Block:        func(b *Block) { t.Errorf("got block %v", b) },
		Step:         func(s Step) { t.Errorf("got step %v", s) },
		Position:     func(p Position) { t.Errorf("got position %v", p) },
		Evidence:     func(e *edgeguard.Evidence) { t.Errorf("got evidence %v", e) },
		Distribution: func(one Distribution) { t.Errorf("got distribution %v", one) },
	}
}

func slot(at time.Time, width uint32) uint32 { return uint32(at.Unix()) / width }

// window makes a key's window of the given counts, the last one in slot head.
func window(prefix string, head uint32, counts ...uint16) Window {
	w := Window{Prefix: netip.MustParsePrefix(prefix), Head: head}
	for i, n := range counts {
		w.Counts.Add(head-uint32(len(counts)-1-i), n)
	}
	return w
}

func block(prefix string, until time.Time) Block {
	return Block{Block: edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Reason: "over limit",
		Origin: "edge-1", Count: 1901, Limit: 1900, Since: noon.Add(-time.Minute), Until: until, Version: 7}}
}

// grounds is the evidence of a block that so many nodes counted.
func grounds(prefix string, nodes int) edgeguard.Evidence {
	e := edgeguard.Evidence{
		Prefix: netip.MustParsePrefix(prefix), With: "host=example.org", Rule: "site", Node: "edge-1", Since: noon.Add(-time.Minute), Until: noon.Add(time.Hour),
		Count: 1901, Limit: 1900, Threshold: 2000, Fleet: nodes > 0, MayBeCustomer: nodes == 0, Width: 5,
	}
	e.Slots[0], e.Slots[59] = 1, 65535
	for i := range nodes {
		e.Split = append(e.Split, edgeguard.Part{Node: string(rune('a' + i)), Count: uint32(i)})
	}
	return e
}

// small is one record or two of everything.
func small() *state {
	head := slot(noon, 5)
	minute := slot(noon, 60)
	with := window("192.0.2.0/24", minute, 1, 0, 300)
	with.With = 0xfeedface
	forced := block("2001:db8::/32", noon.Add(time.Hour))
	forced.Forced = true
	proxied := block("198.51.100.0/24", noon.Add(time.Hour))
	proxied.Proxied = true
	lifted := block("203.0.113.9/32", noon.Add(time.Hour))
	lifted.Lifted = true
	return &state{
		cut: Cut{Node: "edge-1", Taken: noon},
		meters: []meterState{
			{Meter{"0123456789abcdef", 5}, []Window{window("203.0.113.9/32", head, 1900, 1), window("2001:db8:1:2::/64", head-59, 65535)}},
			{Meter{"fedcba9876543210", 60}, []Window{with, window("0.0.0.0/0", minute, 1), window("::/0", minute, 2)}},
		},
		blocks:        []Block{block("203.0.113.10/32", noon.Add(time.Second)), forced, proxied, lifted},
		steps:         []Step{{"site", netip.MustParsePrefix("203.0.113.9/32"), 2, noon.Add(-2 * time.Hour), noon.Add(-time.Hour), 7}},
		positions:     []Position{{"/var/log/nginx/access.log", []byte(`{"offset":12345}`)}, {"empty", nil}},
		evidence:      []edgeguard.Evidence{grounds("203.0.113.9/32", 2), grounds("2001:db8::/56", 0)},
		distributions: []Distribution{{"0123456789abcdef", 5 * time.Minute, noon.Add(-time.Hour), []byte{0, 1, 2, 3}}, {"fedcba9876543210", time.Hour, noon.Add(-time.Minute), nil}},
	}
}

// random is a state of about n records of each kind. Prefixes are all
// different, counts of every shape.
func random(rng *rand.Rand, n int) *state {
	s := &state{cut: Cut{Node: "edge-1", Taken: noon}}
	for i, width := range []uint32{1, 5, 5, 60} {
		m := meterState{Meter: Meter{Fingerprint: string(rune('a' + i)), Width: width}}
		now := slot(noon, width)
		for range n {
			w := Window{Prefix: randomPrefix(rng), Head: now - uint32(rng.IntN(70))}
			if i == 3 {
				w.With = rng.Uint64() | 1
			}
			for range 1 + rng.IntN(1+rng.IntN(60)) {
				w.Counts.Add(w.Head-uint32(rng.IntN(60)), uint16(1+rng.IntN(1<<rng.IntN(17))))
			}
			m.windows = append(m.windows, w)
		}
		s.meters = append(s.meters, m)
	}
	for i := range n {
		b := block("192.0.2.1/32", noon.Add(time.Duration(rng.Int64N(int64(time.Hour)))-30*time.Minute))
		b.Prefix, b.Version, b.Count, b.Limit = randomPrefix(rng), rng.Uint64(), rng.Uint32(), rng.Uint32()
		b.Lifted, b.Forced, b.Proxied = rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
		b.Allow, b.Signed, b.Distant = rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
		if b.Elsewhere = rng.IntN(2) == 0; b.Elsewhere {
			b.Share = rng.Float64()
		}
		if rng.IntN(3) == 0 {
			b.Held, b.Share, b.At = true, rng.Float64(), noon.Add(-time.Duration(rng.Int64N(int64(time.Hour))))
		}
		s.blocks = append(s.blocks, b)
		s.steps = append(s.steps, Step{"site", b.Prefix, rng.IntN(10), b.Since, b.Until, rng.Uint32N(100)})
		s.positions = append(s.positions, Position{string(rune('a' + i%26)), make([]byte, rng.IntN(maxText+1))})
		s.evidence = append(s.evidence, randomEvidence(rng))
		s.distributions = append(s.distributions, Distribution{string(rune('a' + i%26)), time.Duration(rng.IntN(3600)) * time.Second, b.Since, append([]byte(nil), make([]byte, rng.IntN(maxText+1))...)})
	}
	return s
}

func randomEvidence(rng *rand.Rand) edgeguard.Evidence {
	e := grounds(randomPrefix(rng).String(), rng.IntN(maxParts+1))
	e.With = strings.Repeat("w", rng.IntN(maxWith+1))
	e.Count, e.Limit, e.Threshold, e.Width = rng.Uint32(), rng.Uint32(), rng.Uint32(), 1+rng.Uint32N(3600)
	for i := range e.Slots {
		e.Slots[i] = uint16(rng.Uint32())
	}
	for i := range e.Split {
		e.Split[i] = edgeguard.Part{Node: strings.Repeat("n", rng.IntN(maxName+1)), Count: rng.Uint32()}
	}
	return e
}

func randomPrefix(rng *rand.Rand) netip.Prefix {
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	addr := netip.AddrFrom16(raw)
	if rng.IntN(2) == 0 {
		addr = netip.AddrFrom4([4]byte(raw[:]))
	}
	return netip.PrefixFrom(addr, rng.IntN(addr.BitLen()+1)).Masked()
}

// seeded returns a source of random numbers and prints its seed.
func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
