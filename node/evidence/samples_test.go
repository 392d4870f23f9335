package evidence

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"edgeguard"
	"edgeguard/internal/safetext"
)

const all = 16

func ask(path string) *edgeguard.Event {
	return &edgeguard.Event{Addr: netip.MustParseAddr("203.0.113.9"), Method: "GET", Path: path, Agent: "curl/8", Status: 200}
}

func paths(list []Sample) (out []string) {
	slices.SortFunc(list, func(a, b Sample) int { return a.Time.Compare(b.Time) })
	for _, one := range list {
		out = append(out, one.Path)
	}
	return out
}

// TestSizes: the bound in bytes is of what the records and keys really take.
func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(record{}); n != recordBytes {
		t.Errorf("a record takes %d bytes, not %d", n, recordBytes)
	}
	// A list's element is 48 bytes; a map's entry of a prefix and a pointer 40, with room half used 80.
	if n := unsafe.Sizeof(kept{}) + 48 + 80; n > keyBytes {
		t.Errorf("a key takes %d bytes, not %d", n, keyBytes)
	}
	s := NewSamples(all, SampleRoom(512<<20, all))
	if keys := s.most[0] + s.most[1]; keys > 4096 || keys < 3800 {
		t.Errorf("%d keys", keys)
	}
	if NewSamples(0, SampleRoom(512<<20, 0)) != nil || SampleRoom(16<<20, all) != 1<<20 {
		t.Error("none is not none, or a small memory is not spared")
	}
}

// The samples of before the block and those of what it refused do not push each other
// out; of each the newest stay.
func TestHalves(t *testing.T) {
	s, now := NewSamples(all, bytes), noon
	until := noon.Add(time.Hour)
	for i := range 20 {
		now = now.Add(time.Second)
		s.Take(now, prefixOf(1), ask(fmt.Sprintf("/near%d?token=secret", i)), time.Time{})
	}
	for i := range 100 {
		now = now.Add(time.Second)
		s.Take(now, prefixOf(1), ask(fmt.Sprintf("/refused%d", i)), until)
	}
	var want []string
	for i := 12; i < 20; i++ {
		want = append(want, fmt.Sprintf("/near%d", i))
	}
	for i := 92; i < 100; i++ {
		want = append(want, fmt.Sprintf("/refused%d", i))
	}
	if got := paths(s.Of(prefixOf(1), now)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	one := NewSamples(1, bytes)
	one.Take(noon, prefixOf(1), ask("/near"), time.Time{})
	one.Take(now, prefixOf(1), ask("/refused"), until)
	if got := paths(one.Of(prefixOf(1), now)); !slices.Equal(got, []string{"/refused"}) {
		t.Errorf("with one sample a key: %v", got)
	}
}

// A flood of distinct keys near a limit pushes out no sample of a blocked key, and
// the bytes stay within the bound.
func TestFloodOfKeys(t *testing.T) {
	s := NewSamples(all, bytes)
	until := noon.Add(time.Hour)
	for i := range s.most[1] {
		s.Take(noon, prefixOf(i), ask("/offender"), until)
	}
	for i := range 100_000 {
		s.Take(noon, prefixOf(1<<20+i), ask("/flood"), time.Time{})
	}
	for i := range s.most[1] {
		if len(s.Of(prefixOf(i), noon)) != 1 {
			t.Fatalf("the sample of blocked key %d is gone", i)
		}
	}
	if used := s.Used(); used > bytes || len(s.of) > s.most[0]+s.most[1] {
		t.Errorf("%d bytes, %d keys", used, len(s.of))
	}
	for i := range 100_000 { // each of them blocked: the newest stay
		s.Take(noon, prefixOf(1<<20+i), ask("/flood"), until)
	}
	if used := s.Used(); used > bytes || len(s.Of(prefixOf(0), noon)) != 0 || len(s.Of(prefixOf(1<<20+99_999), noon)) == 0 {
		t.Errorf("%d bytes after a flood of blocked keys", used)
	}
}

// samplesOracle is what is kept of each key, as lists without a bound in bytes.
type samplesOracle struct {
	keys []*oracleKey // the oldest first
}

type oracleKey struct {
	prefix        netip.Prefix
	blocked       bool
	gone          time.Time
	near, refused []string
}

func (o *samplesOracle) take(s *Samples, now time.Time, prefix netip.Prefix, path string, until time.Time) {
	blocked := !until.IsZero()
	i := slices.IndexFunc(o.keys, func(k *oracleKey) bool { return k.prefix == prefix })
	k := &oracleKey{prefix: prefix}
	if i >= 0 {
		k = o.keys[i]
	}
	if i < 0 || blocked && !k.blocked || !blocked && !k.blocked {
		if i >= 0 {
			o.keys = slices.Delete(o.keys, i, i+1)
		}
		k.blocked = blocked
		o.keys = append(o.keys, k)
		o.bound(blocked, s.most)
	}
	switch {
	case blocked:
		k.gone, k.refused = until.Add(samplesKeep), append(k.refused, path)
	default:
		if k.near = append(k.near, path); !k.blocked {
			k.gone = now.Add(keepNear)
		}
	}
}

func (o *samplesOracle) bound(blocked bool, most [2]int) {
	of, first := 0, -1
	for i, k := range o.keys {
		if k.blocked == blocked {
			if of++; first < 0 {
				first = i
			}
		}
	}
	if blocked && of > most[1] || !blocked && of > most[0] {
		o.keys = slices.Delete(o.keys, first, first+1)
	}
}

func (o *samplesOracle) of(prefix netip.Prefix, now time.Time) []string {
	for _, k := range o.keys {
		if k.prefix == prefix && now.Before(k.gone) {
			return slices.Concat(k.near[max(0, len(k.near)-all/2):], k.refused[max(0, len(k.refused)-all/2):])
		}
	}
	return nil
}

// Whatever comes in whatever order, what is kept is what the oracle keeps.
func TestSamplesKeepsAsTheOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	s, now := NewSamples(all, 40*(keyBytes+all*recordBytes)), noon
	var o samplesOracle
	for step := range 30_000 {
		now = now.Add(time.Duration(rng.IntN(5)) * time.Minute / 4)
		prefix, path := prefixOf(rng.IntN(80)), fmt.Sprintf("/%d", step)
		switch rng.IntN(10) {
		case 0:
			s.Sweep(now)
			o.keys = slices.DeleteFunc(o.keys, func(k *oracleKey) bool { return !now.Before(k.gone) })
		case 1:
			b := edgeguard.Block{Prefix: prefix, Until: now.Add(time.Hour), Lifted: rng.IntN(2) == 0}
			s.Changed(b, now)
			for _, k := range o.keys {
				if k.prefix == prefix && k.blocked {
					if k.gone = b.Until.Add(samplesKeep); b.Lifted {
						k.gone = now.Add(samplesKeep)
					}
				}
			}
		case 2, 3, 4, 5:
			s.Take(now, prefix, ask(path), time.Time{})
			o.take(s, now, prefix, path, time.Time{})
		default:
			until := now.Add(time.Duration(rng.IntN(600)) * time.Second)
			s.Take(now, prefix, ask(path), until)
			o.take(s, now, prefix, path, until)
		}
		prefix = prefixOf(rng.IntN(80))
		got, want := paths(s.Of(prefix, now)), o.of(prefix, now)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("step %d, %s: got %v, want %v", step, prefix, got, want)
		}
		if len(s.of) != s.oldest[0].Len()+s.oldest[1].Len() || s.Used() > 40*(keyBytes+all*recordBytes) {
			t.Fatalf("step %d: %d keys, %d and %d in order, %d bytes", step, len(s.of), s.oldest[0].Len(), s.oldest[1].Len(), s.Used())
		}
	}
}

// What is gone is wiped, and not only hidden.
func TestWiped(t *testing.T) {
	s := NewSamples(all, bytes)
	s.Take(noon, prefixOf(1), ask("/secret"), noon.Add(time.Hour))
	s.Take(noon, prefixOf(2), ask("/secret"), time.Time{})
	for _, c := range []struct {
		n    int
		gone time.Duration
	}{{1, time.Hour + samplesKeep}, {2, keepNear}} {
		if len(s.Of(prefixOf(c.n), noon.Add(c.gone-1))) != 1 || len(s.Of(prefixOf(c.n), noon.Add(c.gone))) != 0 {
			t.Errorf("key %d is not gone after %v", c.n, c.gone)
		}
	}
	s.Sweep(noon.Add(48 * time.Hour))
	if len(s.of) != 0 || len(s.idle) != 2 {
		t.Fatalf("%d keys, %d idle", len(s.of), len(s.idle))
	}
	for _, records := range s.idle {
		for i := range records {
			if records[i] != (record{}) {
				t.Fatal("a sample is still in memory")
			}
		}
	}
}

// Whatever a client sends is cut, and no terminal or page acts on it.
func TestHostile(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", 4096), strings.Repeat("\xff", 4096), strings.Repeat("é", 4096), "\x1b[2J\x00\u202e<script>", "?", "",
		strings.Repeat("x", maxPath-1) + "é", "/a?password=secret", "/\r\nfake: line",
	} {
		s := NewSamples(all, bytes)
		e := ask(text)
		e.Method, e.Agent = text, text
		s.Take(noon, prefixOf(1), e, time.Time{})
		for _, one := range s.Of(prefixOf(1), noon) {
			for _, shown := range []string{one.Method, one.Path, one.Agent} {
				if !safetext.Clean(shown) || len(shown) > 3*maxPath {
					t.Errorf("%.40q became %q", text, shown)
				}
			}
			if strings.ContainsAny(one.Path, "?") && strings.HasPrefix(text, "/a?") {
				t.Errorf("the query is kept: %q", one.Path)
			}
		}
	}
}

// Nil keeps nothing.
func TestNone(t *testing.T) {
	var s *Samples
	s.Take(noon, prefixOf(1), ask("/"), noon)
	s.Changed(edgeguard.Block{}, noon)
	s.Sweep(noon)
	if s.Of(prefixOf(1), noon) != nil || s.Used() != 0 {
		t.Error("nil keeps something")
	}
}

// BenchmarkTake is one sample: of a blocked key, and of another key each time.
func BenchmarkTake(b *testing.B) {
	event := ask(strings.Repeat("/path", 30))
	b.Run("blocked", func(b *testing.B) {
		b.ReportAllocs()
		s := NewSamples(all, bytes)
		for b.Loop() {
			s.Take(noon, prefixOf(1), event, noon)
		}
	})
	b.Run("flood", func(b *testing.B) {
		b.ReportAllocs()
		s := NewSamples(all, bytes)
		for i := 0; b.Loop(); i++ {
			s.Take(noon, prefixOf(i&0xffffff), event, time.Time{})
		}
	})
}
