package admin

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// Way is something that refuses what a node blocks, outside of its own answers.
type Way struct {
	Name string
	// Takes is how long it takes at most, in the usual course, until a change is in
	// force there.
	Takes time.Duration
}

const (
	// leastPull is the least that a bouncer is given until it has pulled, and longestPull
	// the most: one that is never seen again must not hide for ever that it is away.
	leastPull, longestPull = 20 * time.Second, 10 * time.Minute
)

// Ways returns what keeps a copy of the blocks: lists, and bouncers that have pulled since
// the start.
func (s *Stats) Ways() (all []Way) {
	for i := range s.Enforcers {
		if e := &s.Enforcers[i]; !e.DryRun {
			all = append(all, Way{e.Name, time.Duration(e.Takes) * time.Second})
		}
	}
	if s.Bouncers == nil {
		return all
	}
	for i := range s.Bouncers.Bouncers {
		if b := &s.Bouncers.Bouncers[i]; !b.LastPull.IsZero() {
			takes := time.Duration(2 * b.Every * float64(time.Second)).Truncate(time.Second)
			all = append(all, Way{"bouncer " + b.Name, min(max(takes, leastPull), longestPull)})
		}
	}
	return all
}

// Askers returns the listeners at which proxies have asked since the start whether to let
// a request pass.
func (s *Stats) Askers() (all []string) {
	for i := range s.Sources {
		if one := &s.Sources[i]; one.Asked && one.Events > 0 {
			all = append(all, one.Name)
		}
	}
	return all
}

// Lingers says where an unblock is not in force yet, and for how long at most; empty where
// it is.
func (s *Stats) Lingers() string {
	var late []string
	for _, way := range s.Ways() {
		if way.Takes > time.Second && !s.Monitor {
			late = append(late, fmt.Sprintf("%s by %s", words.Length(way.Takes), way.Name))
		}
	}
	if len(late) == 0 {
		return ""
	}
	text := "It may still be refused, for at most " + strings.Join(late, ", for ") + "."
	if s.Fleet != nil && s.Fleet.Alive > 1 {
		text += " The lists of the fleet's other nodes take as long as each says."
	}
	return text
}

// recentSlots is how many slots say how fast an address sends now: the last one is not
// over. One that guesses passwords sends slowly: of it slowSlots say so.
const recentSlots, slowSlots = 3, edgeguard.Slots / 4

// paceOf returns how many of a window's events came lately, and in how long; none of an
// address that has been silent for longer than it was before.
func paceOf(c *RuleCount, now time.Time) (n int, span time.Duration) {
	in := func(last int) time.Duration {
		width := int64(c.Window / len(c.Slots))
		return time.Duration(max(int64(last-1)*width+now.Unix()%width, 1)) * time.Second
	}
	for _, events := range c.Slots[max(0, len(c.Slots)-recentSlots):] {
		n += int(events)
	}
	if n > 0 {
		return n, in(recentSlots)
	}
	silent, longest := 0, -1
	for _, events := range c.Slots[max(0, len(c.Slots)-slowSlots):] {
		if events == 0 {
			silent++
			continue
		}
		if n > 0 {
			longest = max(longest, silent)
		}
		n, silent = n+int(events), 0
	}
	if silent > longest {
		return 0, 0
	}
	return n, in(slowSlots)
}

// Returns says that an address still sends, and how soon a rule that counts it blocks it
// again after an unblock; empty where nothing of it came lately, and of a network that no
// rule counts as one.
func Returns(prefix netip.Prefix, counts []RuleCount, now time.Time) string {
	if !blocklist.IsKey(prefix) {
		return ""
	}
	var soonest time.Duration
	rule, sends := "", false
	for i := range counts {
		c := &counts[i]
		if len(c.Slots) == 0 || c.Forgeable {
			continue
		}
		n, span := paceOf(c, now)
		if n == 0 {
			continue
		}
		sends = true
		again := span * time.Duration(c.Limit+1) / time.Duration(n)
		blocks := c.Action == edgeguard.ActionBlock || c.Does == edgeguard.ActionBlock.String()
		if blocks && c.Distinct == "" && again <= time.Duration(c.Window)*time.Second && (rule == "" || again < soonest) {
			rule, soonest = c.Rule, again
		}
	}
	switch {
	case !sends:
		return ""
	case rule == "":
		return "It still sends, and at this pace no rule that counts events blocks it again."
	}
	return fmt.Sprintf("It still sends: at this pace rule %s blocks it again in %s.", safetext.Strip(rule), words.Length(max(soonest, time.Second)))
}
