package notify

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

const (
	// mostExamples is how many blocks have a message of their own, and how many of
	// more are examples.
	mostExamples = 5
	// mostRules is how many rules are counted apart, and mostNamed how many a summary
	// names.
	mostRules, mostNamed = 64, 5
	// otherRule is where the blocks of further rules are counted.
	otherRule = "other"
)

// gathered is the attacks, and the blocks that belong to none, since the last message: their number by
// rule, and the first of them. It takes the same memory however many there were.
type gathered struct {
	since    time.Time
	total    int
	attacks  int // of these
	rules    map[string]int
	examples []example
}

// example is the first block of an attack; without an ID, one of no attack.
type example struct {
	edgeguard.Block
	attack string
}

// Add counts the attack that a block began, or a block of none.
func (g *gathered) Add(now time.Time, b *edgeguard.Block, attack string) {
	if g.total == 0 {
		g.since = now
	}
	g.total++
	if attack != "" {
		g.attacks++
	}
	if g.rules == nil {
		g.rules = make(map[string]int)
	}
	rule := b.Rule
	if _, known := g.rules[rule]; !known && len(g.rules) >= mostRules {
		rule = otherRule
	}
	g.rules[rule]++
	if len(g.examples) < mostExamples {
		g.examples = append(g.examples, example{*b, attack})
	}
}

// Len returns how many there are.
func (g *gathered) Len() int { return g.total }

// messages returns one message for each, or a summary of many.
func (g *gathered) messages(now time.Time, n *Names, monitor bool) []Message {
	if g.total > len(g.examples) {
		return []Message{g.summary(now, n, monitor)}
	}
	all := make([]Message, 0, len(g.examples))
	for i := range g.examples {
		all = append(all, n.block(&g.examples[i].Block, g.examples[i].attack, monitor))
	}
	return all
}

// noun says how many there are of what.
func (g *gathered) noun() string {
	switch g.attacks {
	case 0:
		return words.Plural(g.total, "block", "blocks")
	case g.total:
		return words.Plural(g.total, "attack", "attacks")
	}
	return words.Number(g.total) + " attacks and blocks"
}

// summary returns many as one message.
func (g *gathered) summary(now time.Time, n *Names, monitor bool) Message {
	m := Message{Time: n.instant(now), Kind: kindSummary, Fields: Fields{Since: n.instant(g.since), Blocks: g.total, Monitor: monitor}}
	for rule, blocks := range g.rules {
		m.Fields.Rules = append(m.Fields.Rules, ByRule{harmless(rule), blocks})
	}
	slices.SortFunc(m.Fields.Rules, func(a, b ByRule) int { return cmp.Or(b.Blocks-a.Blocks, strings.Compare(a.Rule, b.Rule)) })
	most := m.Fields.Rules[0]
	m.Fields.Rules = m.Fields.Rules[:min(len(m.Fields.Rules), mostNamed)]
	for i := range g.examples {
		m.Fields.Examples = append(m.Fields.Examples, addressText(g.examples[i].Prefix))
	}
	text := fmt.Sprintf("%s since %s, the most by %s (%s), such as %s", g.noun(), n.clock(g.since), blockMaker(most.Rule), words.Number(most.Blocks), strings.Join(m.Fields.Examples, ", "))
	if monitor {
		text += "; nothing is enforced (mode: monitor)"
	}
	m.Text = harmless(text)
	return m
}

// block returns the message of an attack by its first block, or of a block of none.
func (n *Names) block(b *edgeguard.Block, attack string, monitor bool) Message {
	m := Message{Time: n.instant(b.Since), Kind: kindBlock, Fields: Fields{
		Prefix: addressText(b.Prefix), Rule: harmless(b.Rule), Reason: harmless(b.Reason), Origin: harmless(b.Origin), Count: b.Count, Limit: b.Limit, Monitor: monitor,
	}}
	if b.Limit > 0 && n.Unit != nil {
		m.Fields.Unit = n.Unit(b.Rule, b.Origin)
	}
	if attack != "" {
		m.Kind, m.Fields.Attack = kindAttack, harmless(attack)
	}
	until := "until it is taken back"
	if b.Until.Before(edgeguard.Forever) {
		m.Fields.Until = n.instant(b.Until)
		until = "until " + n.clock(b.Until)
		if b.Until.Sub(b.Since) > 12*time.Hour {
			until = "until " + n.Epoch(b.Until).UTC().Format("2006-01-02 15:04 UTC")
		}
	}
	verb := "is blocked "
	if monitor {
		verb = "would be blocked (mode: monitor) "
	}
	text := m.Fields.Prefix + " " + verb + until + " by " + blockMaker(b.Rule)
	switch {
	case b.Until.IsZero():
		m.Fields.Until = ""
		text = m.Fields.Prefix + " is refused what matches " + blockMaker(b.Rule)
		if monitor {
			text = m.Fields.Prefix + " would be refused (mode: monitor) what matches " + blockMaker(b.Rule)
		}
	case b.Limit > 0:
		text += ": " + m.Fields.Unit.Beside(b.Count, b.Limit)
	case b.Reason != "":
		text += ": " + b.Reason
	}
	if b.Origin != "" && b.Origin != n.Node {
		text += ", on node " + b.Origin
	}
	if attack != "" {
		text += "; attack " + attack
	}
	m.Text = harmless(text)
	return m
}

// blockMaker names what made a block.
func blockMaker(rule string) string {
	switch owner := edgeguard.Owner(rule); {
	case owner != "":
		return owner
	case rule == edgeguard.ManualRule:
		return "an operator"
	case rule == otherRule:
		return "other rules"
	}
	return "rule " + rule
}

// addressText writes a single address without its length.
func addressText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
