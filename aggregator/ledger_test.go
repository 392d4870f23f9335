package aggregator

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"
)

func TestLedger(t *testing.T) {
	l := NewLedger()
	r := sampleRecord()
	const p, q = "203.0.113.45/32", "203.0.113.46/32"
	s := mustEncode(t, r)
	if !l.Missing(p, s, false) {
		t.Error("an empty ledger misses nothing")
	}
	l.Apply(p, s, Judged{})
	l.Apply(q, s, Judged{})
	if l.Missing(p, s, false) {
		t.Error("a known record is missing")
	}
	if got, want := l.Digest(0), fmt.Sprintf("%016x", RecordHash(p, s)^RecordHash(q, s)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}

	newer, older := r, r
	newer.Block.Version++
	older.Block.Until = older.Block.Until.Add(-time.Second)
	if !l.Missing(p, mustEncode(t, newer), false) || l.Missing(p, mustEncode(t, older), false) {
		t.Error("greater and less are mixed up")
	}

	l.Begin()
	l.Apply(p, mustEncode(t, newer), Judged{})
	if n := l.DropUnapplied(); n != 1 || l.Len() != 1 {
		t.Errorf("dropped %d, %d are left", n, l.Len())
	}
	if !l.Missing(q, s, false) {
		t.Error("a dropped record is still known")
	}
	l.Apply(q, s, Judged{})
	if l.DropRecord(q); l.Len() != 1 || !l.Missing(q, s, false) || l.Digest(0) != fmt.Sprintf("%016x", RecordHash(p, mustEncode(t, newer))) {
		t.Error("an evicted record is still known")
	}
	end := RecordEnd(mustEncode(t, newer))
	if l.Digest(end-1) == "0000000000000000" || l.Len() != 1 {
		t.Error("a record went before its end")
	}
	if got := l.Digest(end); got != "0000000000000000" || l.Len() != 0 {
		t.Errorf("digest %s of %d after all have ended", got, l.Len())
	}
}

// TestLedgerRubbishStandsForNoBlock: what is no record, though it is greater in
// byte order than any, keeps no block from being published.
func TestLedgerRubbishStandsForNoBlock(t *testing.T) {
	const p = "203.0.113.45/32"
	s := mustEncode(t, sampleRecord())
	for _, rubbish := range []string{"", "x", "\xff\xff\xff", "\x02" + s[1:], "\x01\xff" + s[2:10], s + "x"} {
		l := NewLedger()
		l.Apply(p, rubbish, Judged{})
		if !l.Missing(p, s, false) {
			t.Errorf("%q is taken for a block", rubbish)
		}
	}
}

// TestLedgerJudged: what is wrong and what is unsigned is counted through every
// way in which a record goes, and a MAC alone may be missing.
func TestLedgerJudged(t *testing.T) {
	l := NewLedger()
	s := mustEncode(t, sampleRecord())
	state := func() string {
		var wrong []string
		l.Wrong(func(p string) bool { wrong = append(wrong, p); return true })
		slices.Sort(wrong)
		return fmt.Sprint(wrong, l.Unsigned(), l.Newer())
	}
	want := func(what, want string) {
		t.Helper()
		if got := state(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const p, q, r = "203.0.113.45/32", "203.0.113.46/32", "203.0.113.47/32"
	l.Apply(p, s, Judged{Signed: true})
	l.Apply(q, s, Judged{Wrong: true})
	l.Apply(r, s, Judged{})
	want("three", "[203.0.113.46/32] 2 0")
	if l.Missing(p, s, true) || l.Missing(r, s, false) || !l.Missing(r, s, true) || !l.Missing(q, s, true) {
		t.Error("a MAC is missing where it is not, or the other way round")
	}
	l.Apply(p, s, Judged{Wrong: true})
	l.Apply(q, s, Judged{Signed: true})
	want("changed", "[203.0.113.45/32] 2 0")
	l.DropRecord(p)
	l.DropRecord(p)
	want("dropped", "[] 1 0")
	l.Apply(p, s, Judged{Newer: true})
	want("of a later version", "[] 2 1")
	l.Begin()
	l.Apply(p, s, Judged{Wrong: true})
	l.DropUnapplied()
	want("read again", "[203.0.113.45/32] 1 0")
	l.Digest(RecordEnd(s))
	want("ended", "[] 0 0")
	l.Apply(p, s, Judged{Wrong: true})
	l.Apply(q, s, Judged{Wrong: true})
	n := 0
	l.Wrong(func(string) bool { n++; return false })
	if n != 1 {
		t.Errorf("it went on after %d", n)
	}
}

// TestLedgerLifts: an unblock explains why counts are gone; the end of an
// allowance does not, nor does what every node rejects.
func TestLedgerLifts(t *testing.T) {
	l := NewLedger()
	add := func(prefix string, j Judged, change func(*Record)) {
		r := sampleRecord()
		change(&r)
		l.Apply(prefix, mustEncode(t, r), j)
	}
	add("203.0.113.1/32", Judged{}, func(*Record) {})
	add("203.0.113.2/32", Judged{}, func(r *Record) { r.Block.Lifted = true })
	add("203.0.113.3/32", Judged{}, func(r *Record) { r.Block.Lifted, r.Block.Allow = true, true })
	add("203.0.113.4/32", Judged{Wrong: true}, func(r *Record) { r.Block.Lifted = true })
	add("198.51.100.0/24", Judged{}, func(r *Record) { r.Block.Lifted = true })
	for prefix, want := range map[string]bool{
		"203.0.113.1/32": false, "203.0.113.2/32": true, "203.0.113.3/32": false, "203.0.113.4/32": false,
		"198.51.100.7/32": true, "203.0.113.0/24": true, "192.0.2.0/24": false,
	} {
		if got := l.Lifts(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v", prefix, got)
		}
	}
}
