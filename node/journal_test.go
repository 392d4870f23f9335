package node

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

func blockOf(i int) *edgeguard.Block {
	return &edgeguard.Block{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)}), 32), Rule: "r"}
}

// Fault 30: a storm of blocks writes a bounded number of lines a second, says
// what it left out, and every change is published all the same.
func TestJournalInAStorm(t *testing.T) {
	log := &logged{}
	j := newJournal(slog.New(slog.NewTextHandler(log, nil)), func(t time.Time) time.Time { return t })
	published := 0
	j.publish = func(entry) { published++ }
	const blocks = 100_000
	for i := range blocks {
		j.write(entry{block: blockOf(i)}, int64(1+i/50_000)) // two seconds
	}
	j.write(entry{alarm: &edgeguard.Alarm{Kind: "clock", Text: "an alarm is never left out"}}, 2)
	j.turn(3)
	if lines := strings.Count(log.String(), "\n"); lines > 2*(linesPerSecond+1)+1 {
		t.Errorf("%d lines in two seconds", lines)
	}
	if n := strings.Count(log.String(), "count=49950"); n != 2 {
		t.Errorf("what was left out is said %d times, want 2:\n%s", n, log)
	}
	if !strings.Contains(log.String(), "an alarm is never left out") || published != blocks+1 {
		t.Errorf("published %d", published)
	}
}

// Where an import ends, as many ends that refused nothing are kept as crossings in a second,
// and how many more there were; those that refused something are all kept.
func TestJournalOfManyEnds(t *testing.T) {
	j := newJournal(slog.New(slog.DiscardHandler), func(t time.Time) time.Time { return t })
	kept, told, unkept := 0, 0, uint64(0)
	j.publish = func(e entry) {
		switch {
		case e.unkept > 0:
			unkept += e.unkept
		case e.ended.Refused > 0:
			told++
		default:
			kept++
		}
	}
	for i := range 1000 {
		j.write(entry{ended: &blocklist.Ended{Block: *blockOf(i), Why: blocklist.EndedInTime, Refused: uint32(i % 2)}}, 1)
	}
	j.turn(2)
	if kept != linesPerSecond || told != 500 || unkept != 500-linesPerSecond {
		t.Errorf("%d kept, %d that refused something, %d left out", kept, told, unkept)
	}
	for i := range 2 * journalLength {
		j.add(entry{ended: &blocklist.Ended{Block: *blockOf(i), Why: blocklist.EndedInTime}})
	}
	if n := len(j.entries); n != journalLength/2 {
		t.Errorf("%d ends wait", n)
	}
}

// A log that hangs holds up no decision: what does not fit is dropped and counted.
func TestJournalNeverWaits(t *testing.T) {
	j := newJournal(slog.New(slog.DiscardHandler), func(t time.Time) time.Time { return t })
	for i := range journalLength + 7 {
		j.add(entry{block: blockOf(i)})
	}
	if got := j.dropped.Load(); got != 7 {
		t.Errorf("dropped %d, want 7", got)
	}
}
