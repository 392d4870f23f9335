package aggregator

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/safetext"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func sampleRecord() Record {
	return Record{
		Block: edgeguard.Block{
			Prefix: netip.MustParsePrefix("203.0.113.45/32"), Rule: "site", Reason: "over limit in the fleet: edge-1 644, edge-2 588",
			Origin: "edge-1", Count: 1901, Limit: 1900, Since: epoch, Until: epoch.Add(10 * time.Minute), Version: 7, Proxied: true,
		},
		Retention: 5 * time.Minute,
	}
}

func mustEncode(t testing.TB, r Record) string {
	t.Helper()
	s, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRecordReadsWhatItWrote(t *testing.T) {
	want := sampleRecord()
	s := mustEncode(t, want)
	got, err := DecodeRecord("203.0.113.45/32", s)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	want.Block.Allow, want.Block.Until = true, edgeguard.Forever
	if got, err := DecodeRecord("203.0.113.45/32", mustEncode(t, want)); err != nil || got != want {
		t.Errorf("an allowance without an end: got %+v, %v\nwant %+v", got, err, want)
	}
	want.Block.Count, want.Block.Limit, want.Block.Batch = 0, 0, 4711
	if got, err := DecodeRecord("203.0.113.45/32", mustEncode(t, want)); err != nil || got != want {
		t.Errorf("one of an import: got %+v, %v\nwant %+v", got, err, want)
	}
	want = sampleRecord()
	if end := RecordEnd(s); end != want.Block.Until.Unix()+300 {
		t.Errorf("ends at %d", end)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Record){
		"no since":       func(r *Record) { r.Block.Since = time.Time{} },
		"until 2300":     func(r *Record) { r.Block.Until = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) },
		"NUL":            func(r *Record) { r.Block.Rule = "a\x00b" },
		"ESC":            func(r *Record) { r.Block.Reason = "\x1b[2J" },
		"not UTF-8":      func(r *Record) { r.Block.Origin = "edge\xff" },
		"long reason":    func(r *Record) { r.Block.Reason = strings.Repeat("x", MaxString+1) },
		"retention < 0":  func(r *Record) { r.Retention = -time.Second },
		"retention long": func(r *Record) { r.Retention = 1 << 32 * time.Second },
	} {
		r := sampleRecord()
		spoil(&r)
		if _, err := r.Encode(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r := sampleRecord()
	r.Block.Rule, r.Block.Origin, r.Block.Reason = strings.Repeat("a", MaxString), strings.Repeat("b", MaxString), strings.Repeat("c", MaxString)
	if s := mustEncode(t, r); len(s) > MaxRecord {
		t.Errorf("the longest record has %d bytes", len(s))
	}
}

// compareBlocks is the block list's order (blocklist/entry.go), written again.
func compareBlocks(a, b *Record) int {
	bit := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	x, y := &a.Block, &b.Block
	return cmp.Or(
		cmp.Compare(x.Version, y.Version), cmp.Compare(bit(x.Allow), bit(y.Allow)),
		x.Until.Compare(y.Until), cmp.Compare(bit(x.Lifted), bit(y.Lifted)),
		x.Since.Compare(y.Since), strings.Compare(x.Rule, y.Rule), strings.Compare(x.Origin, y.Origin),
		strings.Compare(x.Reason, y.Reason), cmp.Compare(x.Count, y.Count), cmp.Compare(x.Limit, y.Limit),
		cmp.Compare(bit(a.Forced), bit(b.Forced)),
	)
}

func TestRecordsAreInTheListsOrder(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	text := func() string { return []string{"", "a", "b", "ab", "a!", "aé"}[rnd.IntN(6)] }
	random := func() Record {
		r := sampleRecord()
		b := &r.Block
		b.Version = []uint64{1, 2, 1 << 40}[rnd.IntN(3)]
		b.Until = epoch.Add(time.Duration(rnd.IntN(3)) * time.Minute)
		b.Since = epoch.Add(-time.Duration(rnd.IntN(3)))
		b.Lifted, b.Proxied, r.Forced = rnd.IntN(2) == 0, false, rnd.IntN(2) == 0
		b.Allow = rnd.IntN(2) == 0
		b.Rule, b.Origin, b.Reason = text(), text(), text()
		b.Count, b.Limit = uint32(rnd.IntN(300)), uint32(rnd.IntN(2))
		return r
	}
	for range 20000 {
		a, b := random(), random()
		if rnd.IntN(2) == 0 { // alike but for what comes last
			b = a
			b.Block.Reason, b.Block.Count, b.Forced = text(), uint32(rnd.IntN(300)), rnd.IntN(2) == 0
		}
		if got, want := strings.Compare(mustEncode(t, a), mustEncode(t, b)), compareBlocks(&a, &b); got != want {
			t.Fatalf("seed %d: bytes say %d, the list %d:\n%+v\n%+v", seed, got, want, a, b)
		}
	}
}

func TestCheckRecordRefusesWrong(t *testing.T) {
	good := sampleRecord()
	for _, c := range []struct {
		name, prefix string
		change       func(*Record)
		want         string // "" is fine
	}{
		{"fine", "203.0.113.45/32", nil, ""},
		{"a tombstone", "203.0.113.45/32", func(r *Record) { r.Block.Lifted = true }, ""},
		{"v4 /16", "203.0.0.0/16", nil, ""},
		{"v4 /15", "203.0.0.0/15", nil, "wider than /16"},
		{"v4 /8 forced", "203.0.0.0/8", func(r *Record) { r.Forced = true }, ""},
		{"v4 /7 forced", "202.0.0.0/7", func(r *Record) { r.Forced = true }, "too wide"},
		{"v4 /0 forced", "0.0.0.0/0", func(r *Record) { r.Forced = true }, "too wide"},
		{"v6 /16 forced", "2001::/16", func(r *Record) { r.Forced = true }, ""},
		{"v6 /15 forced", "2000::/15", func(r *Record) { r.Forced = true }, "too wide"},
		{"the unblock of a /7", "202.0.0.0/7", func(r *Record) { r.Block.Lifted, r.Forced = true, true }, "too wide"},
		{"v6 /32", "2001:db8::/32", nil, ""},
		{"v6 /31", "2001:db8::/31", nil, "wider than /32"},
		{"host bits", "203.0.113.45/24", nil, "canonical"},
		{"mapped", "::ffff:203.0.113.45/128", nil, "canonical"},
		{"spelling", "2001:DB8::/64", nil, "canonical"},
		{"bare address", "203.0.113.45", nil, "canonical"},
		{"empty", "", nil, "canonical"},
		{"a minute ahead", "203.0.113.45/32", func(r *Record) { r.Block.Since = epoch.Add(time.Minute) }, ""},
		{"the future", "203.0.113.45/32", func(r *Record) { r.Block.Since = epoch.Add(61 * time.Second) }, "future"},
		{"no time at all", "203.0.113.45/32", func(r *Record) { r.Block.Until = r.Block.Since }, "ends before"},
		{"for ever", "203.0.113.45/32", func(r *Record) { r.Block.Until = epoch.Add(longestBlock + 1) }, "lasts longer"},
		{"an allowance for ever", "203.0.0.0/16", func(r *Record) { r.Block.Allow, r.Block.Until = true, edgeguard.Forever }, ""},
		{"a wide allowance", "203.0.0.0/15", func(r *Record) { r.Block.Allow = true }, "wider than /16"},
		{"a wide allowance, forced", "203.0.0.0/8", func(r *Record) { r.Block.Allow, r.Forced = true, true }, ""},
		{"an allowance of everybody, forced", "0.0.0.0/0", func(r *Record) { r.Block.Allow, r.Forced = true, true }, "too wide"},
		{"of much, forced", "202.0.0.0/7", func(r *Record) { r.Block.Allow, r.Forced = true, true }, "too wide"},
		{"of much IPv6, forced", "2000::/15", func(r *Record) { r.Block.Allow, r.Forced = true, true }, "too wide"},
	} {
		r := good
		if c.change != nil {
			c.change(&r)
		}
		_, err := CheckRecord(c.prefix, mustEncode(t, r), epoch)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrWrong) || errors.Is(err, ErrNewer)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestCheckRecordRefusesUncleanText: whoever can write to Redis chooses the
// bytes, so each field is tried with each kind.
func TestCheckRecordRefusesUncleanText(t *testing.T) {
	for _, bad := range []string{"\x1b", "\a", "\r", "\n", "\x7f", "\u009b", "\u202e", "\u2066", "\u200f", "\u061c", "\x9b"} {
		for i, field := range []func(*Record) *string{
			func(r *Record) *string { return &r.Block.Rule },
			func(r *Record) *string { return &r.Block.Origin },
			func(r *Record) *string { return &r.Block.Reason },
		} {
			r := sampleRecord()
			*field(&r) = "marker"
			record := strings.Replace(mustEncode(t, r), "marker", "mark"+bad+"er", 1)
			_, err := CheckRecord("203.0.113.45/32", record, epoch)
			if !errors.Is(err, ErrWrong) {
				t.Errorf("%q in string %d: %v", bad, i, err)
			} else if !safetext.Clean(err.Error()) {
				t.Errorf("%q in string %d: the error repeats it: %q", bad, i, err)
			}
		}
	}
}

// TestCheckRecordNewer: a record of a later version is none of this one's
// business. One of format 0 is no version's.
func TestCheckRecordNewer(t *testing.T) {
	record := mustEncode(t, sampleRecord())
	_, err := CheckRecord("203.0.113.45/32", "\x02"+record[1:], epoch)
	if !errors.Is(err, ErrNewer) || errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("format 2: %v", err)
	}
	if _, err := CheckRecord("203.0.113.45/32", "\x00"+record[1:], epoch); !errors.Is(err, ErrWrong) {
		t.Errorf("format 0: %v", err)
	}
}

func TestDecodeRecordRefusesEveryCutAndMutation(t *testing.T) {
	s := mustEncode(t, sampleRecord())
	for i := range s {
		if _, err := DecodeRecord("203.0.113.45/32", s[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
	if _, err := DecodeRecord("203.0.113.45/32", s+"x"); err == nil {
		t.Error("a byte more: no error")
	}
}

func FuzzDecodeRecord(f *testing.F) {
	r := sampleRecord()
	s, _ := r.Encode()
	f.Add("203.0.113.45/32", s)
	f.Add("2001:db8::/64", s)
	r.Block.Allow, r.Block.Until = true, edgeguard.Forever
	s, _ = r.Encode()
	f.Add("192.0.2.0/24", s)
	f.Add("::/0", strings.Repeat("\x01", 60))
	f.Fuzz(func(t *testing.T, prefix, record string) {
		r, err := DecodeRecord(prefix, record)
		if err != nil {
			return
		}
		if !safetext.Clean(r.Block.Rule + r.Block.Origin + r.Block.Reason) {
			t.Fatalf("%q decodes to text that is not clean: %+v", record, r)
		}
		again, err := r.Encode()
		if err != nil || again != record || r.Block.Prefix.String() != prefix {
			t.Fatalf("%q %q became %+v, and that %q (%v)", prefix, record, r, again, err)
		}
		RecordEnd(record)
	})
}
