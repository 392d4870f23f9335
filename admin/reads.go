package admin

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// reads answers what changes nothing. It has no Operator, so that a handler of
// its own cannot change anything.
type reads struct {
	reader    Reader
	events    *Events
	tokenless bool          // TCP clients show no token
	scan      chan struct{} // holds one while a request looks at every key
}

// historyLength is how many events of an address are shown.
const historyLength = 20

// getHealth says that the process runs and answers.
func (s *reads) getHealth(w http.ResponseWriter, _ *http.Request) *Problem {
	sendJSON(w, http.StatusOK, struct {
		OK bool `json:"ok"`
	}{true})
	return nil
}

// getReady reports whether the node has restored its state and listens. A node that is
// cut off from its fleet stays ready: it decides alone, and a balancer that
// took all nodes out because their Redis is away would make it worse. What else
// degrades it is named by the kinds of the alarms, with the sentences in the
// status: any client may ask here, so the reason contains no address.
func (s *reads) getReady(w http.ResponseWriter, _ *http.Request) *Problem {
	stats := s.reader.Stats()
	status := http.StatusOK
	if !stats.Ready {
		status = http.StatusServiceUnavailable
	}
	reason := degradedBy(&stats)
	degraded := reason != ""
	if !stats.Ready && !degraded {
		reason = "starting or ending"
	}
	sendJSON(w, status, struct {
		Ready    bool   `json:"ready"`
		Degraded bool   `json:"degraded"`
		Reason   string `json:"reason,omitempty"`
	}{stats.Ready, degraded, reason})
	return nil
}

// degradedBy returns what degrades the node, in words without an address; "" if
// nothing does.
func degradedBy(stats *Stats) string {
	if stats.Fleet != nil && !stats.Fleet.Up {
		return "fleet: " + stats.Fleet.Trouble
	}
	kinds := slices.Sorted(slices.Values(stats.Kinds))
	if kinds = slices.Compact(kinds); len(kinds) > 0 {
		return "alarms: " + strings.Join(kinds, ", ")
	}
	return ""
}

func (s *reads) getStatus(w http.ResponseWriter, _ *http.Request) *Problem {
	stats := s.reader.Stats()
	stats.BothNames()
	sendJSON(w, http.StatusOK, stats)
	return nil
}

// explain sends the state of an address.
func (s *reads) explain(w http.ResponseWriter, r *http.Request) *Problem {
	addr, p := parseAddr("address", r.PathValue("address"))
	if p != nil {
		return p
	}
	e := s.reader.Explain(s.reader.Now(), addr)
	e.Rules = append([]RuleCount{}, e.Rules...)
	for i := range e.Rules {
		e.Rules[i].Does = e.Rules[i].Action.String()
	}
	s.addFleet(r.Context(), &e)
	e.History = s.events.history(addr, historyLength)
	sendJSON(w, http.StatusOK, e)
	return nil
}

// addFleet adds what the fleet counts to the rules that go by it.
func (s *reads) addFleet(ctx context.Context, e *Explanation) {
	var keys []FleetKey
	var of []int
	for i := range e.Rules {
		if prefix, ok := keyPrefix(e.Rules[i].Key); ok && e.Rules[i].Scope == "fleet" {
			keys, of = append(keys, FleetKey{e.Rules[i].Rule, prefix}), append(of, i)
		}
	}
	if len(keys) == 0 {
		return
	}
	for i, count := range s.reader.FleetCounts(ctx, keys, true) {
		e.Rules[of[i]].Fleet = count
	}
}

// keyPrefix reads a key without attributes.
func keyPrefix(key string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(key); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(key)
	return prefix, err == nil
}

func (s *reads) listRules(w http.ResponseWriter, _ *http.Request) *Problem {
	sendJSON(w, http.StatusOK, RuleList{Rules: append([]Rule{}, s.reader.Rules()...)})
	return nil
}

// getRule sends a rule with the distribution of its counts.
func (s *reads) getRule(w http.ResponseWriter, r *http.Request) *Problem {
	limit, p := readLimit(r)
	if p != nil {
		return p
	}
	name := r.PathValue("name")
	rules := s.reader.Rules()
	i := slices.IndexFunc(rules, func(rule Rule) bool { return rule.Name == name })
	if i < 0 {
		return noRule(name)
	}
	var counts Counts
	found := false
	if !s.scanning(r.Context(), func() { counts, found = s.reader.Counts(s.reader.Now(), name, limit) }) {
		return nil
	}
	if !found { // a reload dropped it since it was looked up
		return noRule(name)
	}
	sendJSON(w, http.StatusOK, newRuleDetail(rules[i], counts))
	return nil
}

func noRule(name string) *Problem {
	return problem(http.StatusNotFound, "name", "unknown rule "+clip(name), "GET /api/v1/rules lists them")
}

// getTop sends the keys nearest to a limit and the newest blocks.
func (s *reads) getTop(w http.ResponseWriter, r *http.Request) *Problem {
	limit, p := readLimit(r)
	if p != nil {
		return p
	}
	var keys []KeyCount
	if !s.scanning(r.Context(), func() { keys = s.reader.Top(s.reader.Now(), limit) }) {
		return nil
	}
	keys = shown(keys)
	var of []FleetKey
	for _, k := range keys {
		of = append(of, FleetKey{k.Rule, k.Key.Prefix})
	}
	for i, count := range s.reader.FleetCounts(r.Context(), of, false) {
		if keys[i].Key.With == "" {
			keys[i].Fleet = count
		}
	}
	sendJSON(w, http.StatusOK, Top{Keys: keys, Newest: s.newestBlocks(limit)})
	return nil
}

// newestBlocks returns at most n of the active blocks, as they are now, in the
// order in which they were last made, the newest first.
func (s *reads) newestBlocks(n int) []Block {
	now := s.reader.Now()
	blocks, seen := []Block{}, make(map[netip.Prefix]bool)
	s.events.newest(n, func(e *Event) bool {
		if e.Kind != EventBlock || seen[e.Block.Prefix] {
			return false
		}
		seen[e.Block.Prefix] = true
		b, stands := exact(s.reader.Find(now, e.Block.Prefix), e.Block.Prefix)
		if stands {
			blocks = append(blocks, NewBlock(b))
		}
		return stands
	})
	return blocks
}

func readLimit(r *http.Request) (int, *Problem) {
	q, p := readQuery(r, "limit")
	if p != nil {
		return 0, p
	}
	return q.limit()
}

// scanning runs what may look at every key, one at a time, so that clients cannot
// keep all cores busy by asking. It returns false if the client went away while
// waiting.
func (s *reads) scanning(ctx context.Context, look func()) bool {
	select {
	case s.scan <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-s.scan }()
	look()
	return true
}
