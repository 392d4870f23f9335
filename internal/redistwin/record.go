package redistwin

import (
	"encoding/binary"
	"strings"

	"edgeguard/aggregator"
)

// The offsets of the parts of a record that the library reads.
const (
	atVersion, atAllow, atUntil, atLifted, atSince, atRule = 1, 9, 10, 18, 19, 27
	leastRecord                                            = atRule + 3 + 14
)

// plausible is what the library checks of a record; nodes check the rest.
func plausible(record string) bool {
	return len(record) >= leastRecord && len(record) <= aggregator.MaxRecord &&
		record[0] == 1 && strings.IndexByte(record[atRule:], 0) >= 0
}

// supersedes reports whether a record replaces old. The greater one does, with
// one exception: nodes that cross together write the same version with slightly
// different ends, and the first of them stays, so that one crossing makes one
// block. Allowances are made by hand, one by one, and have no such exception.
func supersedes(record, old string, now int64) bool {
	if old == "" {
		return true
	}
	again := live(old, now) && old[atLifted] == 0 && record[atLifted] == 0 && record[atAllow] == 0 &&
		rule(old) == rule(record) && old[atVersion:atUntil] == record[atVersion:atUntil]
	if again && until(record) <= until(old)+1e9 {
		return false
	}
	return record > old
}

func until(record string) uint64 {
	return binary.BigEndian.Uint64([]byte(record[atUntil:atLifted]))
}

func live(record string, now int64) bool { return until(record) > uint64(now)*1e6 }

func rule(record string) string {
	rule, _, _ := strings.Cut(record[atRule:], "\x00")
	return rule
}
