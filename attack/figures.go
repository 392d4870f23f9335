package attack

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/safetext"
)

// What one node tells the others of its attacks, while somebody looks at them: what it refused, which no
// other knows, and what crossed there without a block, which does not travel.

const (
	// mostTold is how many attacks a node tells of, and MostFigures in how many bytes.
	mostTold    = 50
	MostFigures = 4 << 10
	// mostElsewhere bounds what another node can claim to have refused, and mostNetworks its networks.
	mostElsewhere, mostNetworks = 1 << 40, 1 << 24
)

// Figures returns what this node tells of its attacks that go on, those of which most was refused first: a
// line each.
func (b *Book) Figures(now time.Time) string {
	var text strings.Builder
	told := 0
	for _, row := range b.Rows(now) {
		if row.Everybody {
			continue // behind the others: a client makes as many as it likes
		}
		line := fmt.Sprintf("%s %d %d %d %d\n", row.ID, row.here, row.Last.Unix(), row.own, row.Networks)
		if told == mostTold || !row.GoesOn(now) || text.Len()+len(line) > MostFigures {
			break
		}
		if row.own != 0 && len(strings.Fields(line)) == 5 { // else only others know it, or a rule has an odd name
			text.WriteString(line)
			told++
		}
	}
	for _, row := range b.Rows(now) {
		line := fmt.Sprintf("%s %d %d %d %d %s\n", row.ID, row.Most, row.Last.Unix(), row.own, row.Limit, row.With)
		if row.Everybody && row.own != 0 && told < mostTold && row.GoesOn(now) && text.Len()+len(line) <= MostFigures && len(strings.Fields(row.ID)) == 1 {
			text.WriteString(line)
			told++
		}
	}
	return text.String()
}

// Told is what another node tells of its attacks.
type Told struct{ Node, Figures string }

// NodeCount is the greatest count that another node tells of a key without an address.
type NodeCount struct {
	Node  string
	Count uint32
}

// Hear takes in what the other nodes tell now: what they refused is added to the rows that it is of, and an
// attack without a block that is unknown here is one of this book. What no node writes is ignored.
func (b *Book) Hear(now time.Time, told ...Told) {
	for _, all := range b.runs {
		for _, r := range all {
			r.elsewhere, r.networks = 0, 0
			if r.crowd != nil {
				r.crowd.others = nil
			}
		}
	}
	b.rows = nil
	room := mostRuns // crossings that are added at most: the rest is told again
	for _, one := range told {
		b.hear(now, one, &room)
	}
}

func (b *Book) hear(now time.Time, told Told, room *int) {
	if len(told.Figures) > MostFigures {
		return
	}
	n := 0
	for line := range strings.Lines(told.Figures) {
		fields := strings.Fields(line)
		if n++; n > mostTold || len(fields) < 5 {
			return
		}
		at, first, ok := parseID(fields[0])
		with := strings.Join(fields[5:], " ")
		ok = ok && (at.everybody && at.with == fingerprint(with) && safetext.Clean(with) || !at.everybody && with == "")
		var numbers [4]int64
		for i := range numbers {
			one, err := strconv.ParseInt(fields[1+i], 10, 64)
			ok, numbers[i] = ok && err == nil && one >= 0, one
		}
		last, kinds, networks := numbers[1], Outcome(numbers[2]), numbers[3]
		if !ok || kinds == 0 || first > last || last > now.Add(time.Minute).Unix() || now.Sub(time.Unix(last, 0)) > quiet || numbers[2] > 15 || networks > mostNetworks || last-first > int64(Memory/time.Second) {
			continue
		}
		r := b.runAt(at, first)
		if known := r != nil && r.first <= first && first <= r.reach && last <= b.runAt(at, last).reach; !known && kinds&Blocked == 0 && b.count < mostRuns/2 && *room > 0 {
			for t := first; t <= last; t += int64(quiet / time.Second) {
				*room--
				b.Add(&Crossing{Rule: at.rule, Key: at.network, Everybody: at.everybody, With: with, Limit: uint32(min(networks, math.MaxUint32)), Time: time.Unix(t, 0), Kind: kinds, heard: true})
			}
			r = b.runAt(at, first)
		}
		if r != nil && first <= r.reach && at.everybody {
			r.crowd.hear(told.Node, uint32(min(numbers[0], math.MaxUint32)))
			r.refusedAt, b.rows = max(r.refusedAt, last), nil
		} else if r != nil && first <= r.reach {
			r.elsewhere = min(r.elsewhere+uint64(numbers[0]), mostElsewhere)
			r.refusedAt = max(r.refusedAt, last)
			r.networks = max(r.networks, uint32(networks))
			b.rows = nil
		}
	}
}
