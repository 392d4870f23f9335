package aggregator

import (
	"fmt"
	"testing"
	"time"
)

func TestLedger(t *testing.T) {
	l := NewLedger()
	r := sampleRecord()
	const p, q = "203.0.113.45/32", "203.0.113.46/32"
	s := mustEncode(t, r)
	if !l.Missing(p, s) {
		t.Error("an empty ledger misses nothing")
	}
	l.Apply(p, s)
	l.Apply(q, s)
	if l.Missing(p, s) {
		t.Error("a known record is missing")
	}
	if got, want := l.Digest(0), fmt.Sprintf("%016x", RecordHash(p, s)^RecordHash(q, s)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}

	newer, older := r, r
	newer.Block.Version++
	older.Block.Until = older.Block.Until.Add(-time.Second)
	if !l.Missing(p, mustEncode(t, newer)) || l.Missing(p, mustEncode(t, older)) {
		t.Error("greater and less are mixed up")
	}

	l.Begin()
	l.Apply(p, mustEncode(t, newer))
	if n := l.End(); n != 1 || l.Len() != 1 {
		t.Errorf("dropped %d, %d are left", n, l.Len())
	}
	if !l.Missing(q, s) {
		t.Error("a dropped record is still known")
	}
	l.Apply(q, s)
	if l.Drop(q); l.Len() != 1 || !l.Missing(q, s) || l.Digest(0) != fmt.Sprintf("%016x", RecordHash(p, mustEncode(t, newer))) {
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
		l.Apply(p, rubbish)
		if !l.Missing(p, s) {
			t.Errorf("%q is taken for a block", rubbish)
		}
	}
}
