package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/safetext"
)

// Nodes whose rules are not the same count apart and block apart, and their digests say no more
// than that. So where those have differed for two minutes, a node asks in its heartbeats, each node
// writes what its rules do into Redis, beside its figures, and who asks reads it once a digest.
// In a fleet without a key anybody who can write to Redis can write this, too: it decides nothing.

// RuleFact is what a rule does, as far as it must be the same on all nodes.
type RuleFact struct {
	Name   string `json:"name"`
	Meter  string `json:"meter"` // its fingerprint
	Limit  uint32 `json:"limit"`
	Action string `json:"action"`
	// Base is the limit by the config, where an operator set another for the time being.
	Base uint32 `json:"base,omitempty"`
}

// RuleFacts are those of a node, under the digest of its rules.
type RuleFacts struct {
	Digest string     `json:"digest"`
	Rules  []RuleFact `json:"rules"`
}

// The bounds of a comparison. MostRuleFacts is the bytes of a text, with its MAC.
const (
	MostRuleFacts  = 64 << 10
	RuleFactsStay  = time.Hour
	differFor      = 2 * time.Minute
	askRulesEvery  = 10 * time.Second
	repeatRules    = 10 * time.Minute // before what was written is gone, with an emptied Redis too
	mostRuleAsks   = 8
	mostDifferings = 16
)

// base is the limit by the config.
func (r *RuleFact) base() uint32 {
	if r.Base > 0 {
		return r.Base
	}
	return r.Limit
}

// ParseRuleFacts reads a text, and reports whether a node can have written it.
func ParseRuleFacts(text string) (f RuleFacts, ok bool) {
	if len(text) > MostRuleFacts || json.Unmarshal([]byte(text), &f) != nil {
		return RuleFacts{}, false
	}
	odd := func(r RuleFact) bool {
		return r.Name == "" || len(r.Name) > 255 || !safetext.Clean(r.Name+r.Action) || len(r.Action) > 16
	}
	return f, isHex(f.Digest, digestLong) && !slices.ContainsFunc(f.Rules, odd)
}

// Against returns in words in which rules another node, of this name, has others. wrong is false
// where operators set thresholds on one, or where the two have rules of other names: each may be meant.
func (f *RuleFacts) Against(other *RuleFacts) (differ []string, wrong bool) {
	same := len(f.Rules) == len(other.Rules)
	for i := range f.Rules {
		mine := &f.Rules[i]
		at := slices.IndexFunc(other.Rules, func(r RuleFact) bool { return r.Name == mine.Name })
		if at < 0 {
			same = false
			continue
		}
		switch there := &other.Rules[at]; {
		case mine.Meter != there.Meter:
			differ, wrong = append(differ, mine.Name+" counts something else"), true
		case mine.Action != there.Action:
			differ, wrong = append(differ, fmt.Sprintf("%s: %s there, %s here", mine.Name, there.Action, mine.Action)), true
		case mine.base() != there.base():
			differ, wrong = append(differ, fmt.Sprintf("%s: limit %d there, %d here", mine.Name, there.Limit, mine.Limit)), true
		case mine.Limit != there.Limit:
			differ = append(differ, fmt.Sprintf("%s: limit %d there, %d here, by an operator", mine.Name, there.Limit, mine.Limit))
		}
	}
	return differ, wrong && same
}

// Comparison is what one node knows of the rules of the others. It is safe for concurrent use.
// Make it with [NewComparison]. nil compares nothing.
type Comparison struct {
	own func() RuleFacts

	mu    sync.Mutex           // guards the fields below
	since map[string]time.Time // by node and digest, of those that differ
	nodes map[string]string    // their digests
	known map[string]RuleFacts // by digest
	mine  RuleFacts            // this node's, while others differ
	asked time.Time
	wrote time.Time
}

// NewComparison returns the comparison of a node whose rules own returns.
func NewComparison(own func() RuleFacts) *Comparison {
	return &Comparison{own: own, known: map[string]RuleFacts{}}
}

// Follow takes which nodes are alive, with their digests; rules is this node's own.
func (c *Comparison) Follow(now time.Time, node, rules string, alive []aggregator.Heartbeat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, nodes, used := map[string]time.Time{}, map[string]string{}, map[string]bool{}
	for i := range alive {
		h := &alive[i]
		if h.Node == node || h.Rules == "" || h.Rules == rules {
			continue
		}
		key := h.Node + "/" + h.Rules + "/" + rules
		if since[key] = now; !c.since[key].IsZero() {
			since[key] = c.since[key]
		}
		if used[h.Rules] = true; now.Sub(since[key]) >= differFor {
			nodes[h.Node] = h.Rules
		}
	}
	for digest := range c.known {
		if !used[digest] {
			delete(c.known, digest)
		}
	}
	if c.since, c.nodes = since, nodes; len(nodes) > 0 && c.mine.Digest != rules {
		c.mine = c.own()
	}
}

// unknown returns a node of each digest of which nothing was read yet.
func (c *Comparison) unknown() (names []string) {
	var digests []string
	for node, digest := range c.nodes {
		if _, known := c.known[digest]; !known && !slices.Contains(digests, digest) && len(names) < mostRuleAsks {
			names, digests = append(names, node), append(digests, digest)
		}
	}
	return names
}

// Compares reports whether this node asks what the others' rules do.
func (c *Comparison) Compares() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.unknown()) > 0
}

// RulesToWrite returns the text that this node has to write now, if another asks and it was not written a
// moment ago. While rules differ, the first node of each digest repeats it for `edgeguard fleet status`. A text
// that is too long is not written.
func (c *Comparison) RulesToWrite(now time.Time, node string, alive []aggregator.Heartbeat) (text string, ok bool) {
	asked := slices.ContainsFunc(alive, func(h aggregator.Heartbeat) bool { return h.Compares && h.Node != node })
	c.mu.Lock()
	defer c.mu.Unlock()
	every := askRulesEvery
	if !asked {
		every = repeatRules
		if len(c.nodes) == 0 || slices.ContainsFunc(alive, func(h aggregator.Heartbeat) bool { return h.Rules == c.mine.Digest && h.Node < node }) {
			return "", false
		}
	}
	if !c.wrote.IsZero() && now.Sub(c.wrote) < every {
		return "", false
	}
	c.wrote = now
	made, err := json.Marshal(c.own())
	return string(made), err == nil && len(made) < MostRuleFacts-beatRoom
}

// beatRoom is what a MAC adds to a text.
const beatRoom = 256

// NodesToRead returns the names of the nodes whose rules this node has to read now.
func (c *Comparison) NodesToRead(now time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && now.Sub(c.asked) < askRulesEvery {
		return nil
	}
	names := c.unknown()
	if len(names) > 0 {
		c.asked = now
	}
	return names
}

// TakeRules keeps what a node wrote, if it is of the rules that its heartbeat names.
func (c *Comparison) TakeRules(node, text string) {
	f, ok := ParseRuleFacts(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok && c.nodes[node] == f.Digest && len(c.known) < mostDifferings {
		c.known[f.Digest] = f
	}
}

// Differing is a node whose rules are others than this node's, and which.
type Differing struct {
	Node  string
	Rules []string // in words
	// Wrong says that nobody can have meant it: the names are the same, and no operator set a threshold.
	Wrong bool
}

// Differ returns the nodes whose rules differ, by their names.
func (c *Comparison) Differ() (all []Differing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for node, digest := range c.nodes {
		if f, known := c.known[digest]; known {
			if differ, wrong := c.mine.Against(&f); len(differ) > 0 {
				all = append(all, Differing{node, differ, wrong})
			}
		}
	}
	slices.SortFunc(all, func(a, b Differing) int { return strings.Compare(a.Node, b.Node) })
	return all
}

// Alike reports whether the rules of a digest count by this rule what this node does.
func (c *Comparison) Alike(rule, digest string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := func(r RuleFact) bool { return r.Name == rule }
	other := c.known[digest]
	at := slices.IndexFunc(other.Rules, is)
	if at < 0 {
		return false
	}
	mine := slices.IndexFunc(c.mine.Rules, is)
	return mine >= 0 && c.mine.Rules[mine].Meter == other.Rules[at].Meter
}
