package node

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
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
