package redistwin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/aggregator"
)

const (
	// maxRemoved bounds how many ended records one call removes.
	maxRemoved = 200
	// maxStream bounds the stream; the server's own bound is approximate.
	maxStream = 100000
)

// Change is one entry of the stream.
type Change struct {
	Version        int64
	Prefix, Record string
	MAC            string // of the record, if it has one
	Gone           bool   // removed: evicted for another record, or refused by all nodes
}

// list is the blocks of a namespace and what belongs to them.
type list struct {
	records    map[string]string // by prefix
	macs       map[string]string // by prefix; of a record of before it may still be there
	ends       map[string]int64
	stream     []Change
	version    int64
	digest     uint64
	partitions string
	born       string // when the first heartbeat came
	members    members
}

func (r *Redis) list(blocks string) *list {
	if r.lists[blocks] == nil {
		r.lists[blocks] = &list{records: map[string]string{}, macs: map[string]string{}, ends: map[string]int64{}, members: newMembers()}
	}
	return r.lists[blocks]
}

func (l *list) clone() *list {
	c := *l
	c.records, c.macs, c.ends, c.members = maps.Clone(l.records), maps.Clone(l.macs), maps.Clone(l.ends), l.members.clone()
	c.stream = slices.Clone(l.stream)
	return &c
}

// Blocks returns the records by prefix.
func (r *Redis) Blocks(key string) map[string]string { return maps.Clone(r.list(key).records) }

// MACs returns the MACs by prefix.
func (r *Redis) MACs(blocks string) map[string]string { return maps.Clone(r.list(blocks).macs) }

// Stream returns the stream of changes, oldest first. Its tip is the version,
// where the server has an ID that it made itself.
func (r *Redis) Stream(blocks string) []Change { return slices.Clone(r.list(blocks).stream) }

// publish merges records: KEYS blocks ends stream state macs, ARGV now in unix
// milliseconds, then prefix, record and MAC in turn. It answers 1 for each record that was accepted, 0 for each that was
// not, 2 for each that found no room, and 3 for each that was stored already
// and has another MAC now.
func (r *Redis) publish(keys, args []string) (any, error) {
	if len(keys) != 5 || len(args)%3 != 1 || !areMACs(args[1:], 3) {
		return nil, Error("EDGEGUARD arguments")
	}
	now, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return nil, Error("EDGEGUARD arguments")
	}
	l := r.list(keys[0])
	l.removeEnded(now / 1000)
	out := []any{}
	sample := sample{full: r.Full}
	for some := range slices.Chunk(args[1:], 3) {
		out = append(out, l.merge(&sample, some[0], some[1], some[2], now))
	}
	l.dropStrayMACs()
	return out, nil
}

// merge merges one record and returns the answer.
func (l *list) merge(sample *sample, prefix, record, mac string, now int64) int64 {
	old, known := l.records[prefix]
	switch {
	case plausible(record) && old == record && mac != "" && l.macs[prefix] != mac:
		l.announce(prefix, record, mac)
		return 3
	case !plausible(record) || !supersedes(record, old, now):
		return 0
	case !known && !l.makeRoom(sample, prefix, record, now/1000):
		return 2
	}
	l.store(prefix, record, mac)
	sample.drop(prefix)
	return 1
}

const macSize = 21

// areMACs reports whether every step-th argument is a MAC or empty.
func areMACs(args []string, step int) bool {
	for i := step - 1; i < len(args); i += step {
		if len(args[i]) != 0 && len(args[i]) != macSize {
			return false
		}
	}
	return true
}

// dropStrayMACs drops the MACs without a record, if there must be some. The
// library drops those that it finds in one step of a scan; of a short list
// that is all of them.
func (l *list) dropStrayMACs() {
	if len(l.macs) > len(l.records) {
		maps.DeleteFunc(l.macs, func(prefix, _ string) bool { _, ok := l.records[prefix]; return !ok })
	}
}

// replace sets records in place of some that every node refuses: KEYS blocks
// ends stream state macs, ARGV prefix, the refused record, the one to set or "",
// and its MAC or "" in turn. It answers 1 for each whose refused record was
// still there byte by byte, else 0.
func (r *Redis) replace(now time.Time, keys, args []string) (any, error) {
	if len(keys) != 5 || len(args) == 0 || len(args)%4 != 0 || !areMACs(args, 4) {
		return nil, Error("EDGEGUARD arguments")
	}
	l, out := r.list(keys[0]), []any{}
	for some := range slices.Chunk(args, 4) {
		prefix, record := some[0], some[2]
		old, known := l.records[prefix]
		switch {
		case !known || old != some[1] || record != "" && !plausible(record):
			out = append(out, int64(0))
			continue
		case record == "":
			l.remove(prefix)
			l.publishChange(Change{Prefix: prefix, Record: gone(now.Unix()), Gone: true})
		default:
			l.store(prefix, record, some[3])
		}
		out = append(out, int64(1))
	}
	return out, nil
}

func (l *list) store(prefix, record, mac string) {
	if old, ok := l.records[prefix]; ok {
		l.digest ^= aggregator.RecordHash(prefix, old)
	}
	l.records[prefix] = record
	l.ends[prefix] = aggregator.RecordEnd(record)
	l.digest ^= aggregator.RecordHash(prefix, record)
	l.announce(prefix, record, mac)
}

// announce stores a record's MAC, if it has one, and adds the record to the stream.
func (l *list) announce(prefix, record, mac string) {
	l.macs[prefix] = mac
	if mac == "" {
		delete(l.macs, prefix)
	}
	l.publishChange(Change{Prefix: prefix, Record: record, MAC: mac})
}

// publishChange adds a change to the stream.
func (l *list) publishChange(c Change) {
	l.version++
	c.Version = l.version
	l.stream = append(l.stream, c)
	if len(l.stream) > maxStream {
		l.stream = l.stream[len(l.stream)-maxStream:]
	}
}

// removeEnded removes at most maxRemoved records that ended by the second now,
// ordered by end and then by prefix, and their MACs. It
// reports whether none is left.
func (l *list) removeEnded(now int64) (all bool) {
	var ended []string
	for p, end := range l.ends {
		if end <= now {
			ended = append(ended, p)
		}
	}
	slices.SortFunc(ended, func(a, b string) int {
		if l.ends[a] != l.ends[b] {
			return int(l.ends[a] - l.ends[b])
		}
		return strings.Compare(a, b)
	})
	for _, p := range ended[:min(len(ended), maxRemoved)] {
		l.remove(p)
	}
	return len(ended) <= maxRemoved
}

func (l *list) remove(prefix string) {
	l.digest ^= aggregator.RecordHash(prefix, l.records[prefix])
	delete(l.records, prefix)
	delete(l.ends, prefix)
	delete(l.macs, prefix)
}

// repair corrects the digest: KEYS state, ARGV version, digest, the digest to
// set. It answers 1 if the first two still match, else 0.
func (r *Redis) repair(keys, args []string) (any, error) {
	if len(keys) != 1 || len(args) != 3 || len(args[1]) != 16 || len(args[2]) != 16 {
		return nil, Error("EDGEGUARD arguments")
	}
	version, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || version < 0 || strings.ContainsFunc(args[1]+args[2], notHex) {
		return nil, Error("EDGEGUARD arguments")
	}
	l := r.list(strings.TrimSuffix(keys[0], "state") + "blocks")
	if l.version != version || fmt.Sprintf("%016x", l.digest) != args[1] {
		return int64(0), nil
	}
	l.digest, err = strconv.ParseUint(args[2], 16, 64)
	return int64(1), err
}

func notHex(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }
