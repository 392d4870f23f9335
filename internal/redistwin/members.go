package redistwin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/aggregator"
)

const (
	// beatLife is how many seconds a heartbeat is kept.
	beatLife = 3600
	// silent is after how many seconds a node is not alive.
	silent = 10
	// maxNews bounds the changes that a call makes or returns.
	maxNews = 32
)

// beat is one heartbeat and the second it came in.
type beat struct {
	text string
	came int64
}

// age is how many seconds ago a beat came in, or is ahead.
func (b beat) age(now int64) int64 { return max(now-b.came, b.came-now) }

// members is the heartbeats of a namespace, and which of them changed when.
type members struct {
	version int64
	nodes   map[string]beat  // by field
	seen    map[string]int64 // who is alive: the second of the last beat
	moved   map[string]int64 // the version of the last change
}

func newMembers() members {
	return members{nodes: map[string]beat{}, seen: map[string]int64{}, moved: map[string]int64{}}
}

func (m members) clone() members {
	m.nodes, m.seen, m.moved = maps.Clone(m.nodes), maps.Clone(m.seen), maps.Clone(m.moved)
	return m
}

// beat stores a node's heartbeat and returns the state of the namespace: KEYS
// nodes state ends blocks seen moved macs, ARGV field text partitions known
// changed run. With an empty field it only reads, and an empty text is a
// farewell.
func (r *Redis) beat(now time.Time, keys, args []string) (any, error) {
	if len(keys) != 7 || len(args) != 6 || len(args[1]) > aggregator.MaxHeartbeat {
		return nil, Error("EDGEGUARD arguments")
	}
	since, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil || since < -1 || strings.ContainsFunc(args[5], notHex) {
		return nil, Error("EDGEGUARD arguments")
	}
	l := r.list(keys[3])
	l.partitions = cmp.Or(l.partitions, args[2])
	if l.partitions != args[2] {
		return nil, Error("EDGEGUARD partitions " + l.partitions)
	}
	l.born = cmp.Or(l.born, fmt.Sprintf("%d.%d", now.Unix(), now.Nanosecond()/1000))
	digest, tip := "", ""
	if l.removeEnded(now.Unix()) {
		digest = fmt.Sprintf("%016x", l.digest)
	}
	if l.version > 0 {
		tip = strconv.FormatInt(l.version, 10)
	}
	out := []any{now.Unix(), int64(now.Nanosecond() / 1000), l.version, digest, now.Unix(), tip, l.born}
	return l.memberNews(now.Unix(), out, args, since), nil
}

// memberNews stores a heartbeat or a farewell and appends to the answer: the
// version for the next call, whether another process uses the field, the
// second of the field's last beat, whether there is more, whether this is the
// whole list, how often nodes asked for MACs, how many MACs there are, and then
// field, alive and text in turn.
func (l *list) memberNews(now int64, out []any, args []string, since int64) []any {
	m := &l.members
	other, last := m.store(now, args[0], args[1], args[5], args[4] == "1")
	m.dropSilent(now)
	known, more, whole := m.version, 0, 0
	var news []any
	switch {
	case since < 0 || since > 0 && since == m.version:
	case since > 0 && since < m.version:
		known, more, news = m.news(since)
	}
	if since == 0 || since > m.version || since > 0 && since < m.version && len(news) == 0 {
		known, whole = m.version, 1
		m.forget(now)
		for _, field := range sorted(m.nodes) {
			b := m.nodes[field]
			_, alive := m.seen[field]
			news = append(news, field, flag(alive), b.text)
		}
	}
	out = append(out, known, flag(other), last, int64(more), int64(whole), int64(0), int64(len(l.macs)))
	return append(out, news...)
}

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// store stores a heartbeat, or a farewell. It reports whether another process
// uses the field, and the second of its beat before.
func (m *members) store(now int64, field, text, run string, changed bool) (other bool, last int64) {
	if field == "" {
		return false, 0
	}
	own, known := m.nodes[field]
	_, alive := m.seen[field]
	switch {
	case text != "":
		other = known && alive && own.age(now) < silent && !strings.Contains(own.text, `"run":"`+run+`"`)
		m.nodes[field], m.seen[field] = beat{text, now}, now
		if !alive || changed {
			m.change(field)
		}
	case alive:
		delete(m.seen, field)
		m.change(field)
	}
	return other, own.came
}

func (m *members) change(field string) {
	m.version++
	m.moved[field] = m.version
}

// dropSilent removes those from seen who were silent, the longest silent first,
// and those whose beat is ahead, since the server's clock went back.
func (m *members) dropSilent(now int64) {
	for _, gone := range []func(came int64) bool{
		func(came int64) bool { return came <= now-silent },
		func(came int64) bool { return came >= now+silent },
	} {
		for _, field := range m.inOrder(gone) {
			delete(m.seen, field)
			m.change(field)
		}
	}
}

// inOrder returns those of seen that are meant, the oldest first.
func (m *members) inOrder(meant func(came int64) bool) []string {
	var fields []string
	for field, came := range m.seen {
		if meant(came) {
			fields = append(fields, field)
		}
	}
	sortBy(fields, m.seen)
	return fields[:min(len(fields), maxNews)]
}

// sortBy orders fields as a sorted set does.
func sortBy(fields []string, score map[string]int64) {
	slices.SortFunc(fields, func(a, b string) int { return cmp.Or(cmp.Compare(score[a], score[b]), strings.Compare(a, b)) })
}

// news returns what changed after a version, the version of the last of it, and
// 1 if there may be more.
func (m *members) news(since int64) (known int64, more int, news []any) {
	var fields []string
	for field, version := range m.moved {
		if version > since {
			fields = append(fields, field)
		}
	}
	sortBy(fields, m.moved)
	known = m.version
	if len(fields) >= maxNews {
		fields = fields[:maxNews]
		known, more = m.moved[fields[maxNews-1]], 1
	}
	for _, field := range fields {
		text := ""
		b, known := m.nodes[field]
		_, alive := m.seen[field]
		if known && alive {
			text = b.text
		}
		news = append(news, field, flag(known && alive), text)
	}
	return known, more, news
}

// forget removes heartbeats that are too old.
func (m *members) forget(now int64) {
	for field, b := range m.nodes {
		if _, alive := m.seen[field]; alive || b.age(now) <= beatLife {
			continue
		}
		delete(m.nodes, field)
		if b.came < now { // all have read that it went
			delete(m.moved, field)
		}
	}
}
