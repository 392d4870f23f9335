package redistwin

import (
	"cmp"
	"encoding/binary"
	"regexp"
	"strings"

	"edgeguard"
	"edgeguard/aggregator"
)

// DefaultFull is how many records a namespace keeps before a rule's block must
// replace another.
const DefaultFull = 1 << 18

// some is one part in how many of the records makes a network crowded.
const some = 16

// sample is the records as they were when a call first needed room, without
// those removed since. The library samples the records; up to its SAMPLE the
// two agree.
type sample struct {
	full    int
	size    int
	records map[string]string
}

func (s *sample) drop(prefix string) { delete(s.records, prefix) }

// makeRoom reports whether a new record is accepted, and evicts another for it
// if necessary.
func (l *list) makeRoom(s *sample, prefix, record string, second int64) bool {
	switch {
	case len(l.records) < s.full:
		return true
	case ended(record, second):
		return false
	}
	if s.records == nil {
		s.records = make(map[string]string, len(l.records))
		for p, r := range l.records {
			s.records[p] = r
		}
		s.size = len(s.records)
	}
	other := s.victim(prefix, record, second)
	if other == "" {
		return !byRule(record) && len(l.records) < 2*s.full
	}
	l.remove(other)
	s.drop(other)
	l.publishChange(Change{Prefix: other, Record: gone(second), Gone: true})
	return true
}

// victim returns the prefix to evict for a record, or "": one that has ended,
// then the youngest of the network with most of the rules' blocks, if it is
// crowded and has twice as many as the new record's network. For an operator's
// block, any rule's block is evicted.
func (s *sample) victim(prefix, record string, second int64) string {
	piles := [3]map[string][]string{{}, {}, {}} // of the ended, by narrow, by wide network
	for p, r := range s.records {
		switch narrow, wide := networks(p); {
		case ended(r, second):
			piles[0][""] = append(piles[0][""], p)
		case byRule(r):
			piles[1][narrow] = append(piles[1][narrow], p)
			if wide != "" {
				piles[2][wide] = append(piles[2][wide], p)
			}
		}
	}
	narrow, wide := networks(prefix)
	for i, own := range []string{"", narrow, wide} {
		pile := most(piles[i])
		crowded := len(pile)*some >= s.size && len(pile) >= 2*(len(piles[i][own])+1)
		if len(pile) > 0 && (i == 0 || i == 1 && !byRule(record) || crowded) {
			return s.youngest(pile)
		}
	}
	return ""
}

func most(piles map[string][]string) (top []string) {
	var which string
	for name, pile := range piles {
		if cmp.Or(cmp.Compare(len(pile), len(top)), cmp.Compare(tie(name), tie(which))) > 0 {
			which, top = name, pile
		}
	}
	return top
}

func (s *sample) youngest(pile []string) (youngest string) {
	for _, p := range pile {
		if youngest == "" || cmp.Or(cmp.Compare(since(s.records[p]), since(s.records[youngest])), cmp.Compare(tie(p), tie(youngest))) > 0 {
			youngest = p
		}
	}
	return youngest
}

// tie orders texts that are otherwise equal: the first 48 bits of the SHA-1.
func tie(text string) uint64 { return aggregator.RecordHash(text, "") >> 16 }

// since returns when a block began, in nanoseconds as the library's numbers
// hold them.
func since(record string) float64 {
	if !plausible(record) {
		return 0
	}
	return float64(binary.BigEndian.Uint64([]byte(record[atSince:atRule])))
}

// byRule reports whether a rule made this record, and not an operator.
func byRule(record string) bool {
	return record[atAllow] == 0 && record[atLifted] == 0 && record[len(record)-6] == 0 && rule(record) != edgeguard.ManualRule
}

func ended(record string, second int64) bool {
	return !plausible(record) || float64(until(record)) <= float64(second)*1e9
}

var (
	v4        = regexp.MustCompile(`^\d+\.\d+\.`)
	narrowest = regexp.MustCompile(`^[^:]*:[^:]*:[^:]*:`)
	widest    = regexp.MustCompile(`^[^:]*:[^:]*:`)
)

// networks returns the IPv4 /16, or the IPv6 /48 and /32, that contain a
// prefix, as text that is the same for all prefixes in them.
func networks(prefix string) (narrow, wide string) {
	if narrow = v4.FindString(prefix); narrow != "" {
		return narrow, ""
	}
	head, _, _ := strings.Cut(prefix, "::")
	head += ":0:0:0:"
	return narrowest.FindString(head), widest.FindString(head)
}

// gone returns the record by which the stream announces an eviction: an ended
// one, which nodes that do not know evictions ignore.
func gone(second int64) string {
	out := append(make([]byte, 0, leastRecord), 1)
	out = append(out, make([]byte, atUntil-atVersion)...)
	out = binary.BigEndian.AppendUint64(out, uint64(second)*1e9)
	out = append(out, 0)
	out = binary.BigEndian.AppendUint64(out, uint64(second-1)*1e9)
	return string(append(out, make([]byte, leastRecord-atRule)...))
}
