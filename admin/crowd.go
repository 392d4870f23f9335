package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/attack"
	"edgeguard/eventlog"
	"edgeguard/internal/words"
)

// Crowd is what many addresses do together, by a rule whose keys have no address.
type Crowd struct {
	Key  string `json:"key"`  // its attributes, such as path=/login
	Says string `json:"says"` // all of it as a sentence
	// Count is the greatest of this node. Nodes has in a fleet what each counts, those of different addresses apart.
	Count uint32        `json:"count"`
	Limit uint32        `json:"limit"`
	Unit  words.Measure `json:"unit,omitzero"`
	Nodes []NodeCount   `json:"nodes,omitempty"`
	// Ordinary is the greatest count on an ordinary day, of a rule that learns it; absent before seven days.
	Ordinary uint32 `json:"ordinary,omitempty"`
	// Members are who came after half of the limit, since the node started: so many have a place, and about
	// More came beside. Failed did not succeed within half an hour, and of Waiting that is not over yet.
	Members int `json:"members"`
	More    int `json:"more,omitempty"`
	Failed  int `json:"failed"`
	Waiting int `json:"waiting"`
	// MayBeCustomers is how many members were served pages of the site before.
	MayBeCustomers int `json:"may_be_customers"`
	// Agents are their commonest user agents.
	Agents []CrowdAgent `json:"agents,omitempty"`
}

// CrowdAgent is a user agent with its share of the events, at least. Clients wrote it.
type CrowdAgent struct {
	Agent string  `json:"agent"`
	Share float64 `json:"share"`
}

// Comer is a member of a crowd.
type Comer struct {
	Prefix    netip.Prefix `json:"prefix"`
	Since     time.Time    `json:"since"`
	Succeeded bool         `json:"succeeded,omitempty"` // within half an hour
	Waits     bool         `json:"waits,omitempty"`     // the half hour is not over
	// MayBeCustomer says that pages of the site were served to it before.
	MayBeCustomer bool `json:"may_be_customer,omitempty"`
}

// addCrowds adds to attacks who came to them, where they are crowds.
func (v *View) addCrowds(all []Attack) {
	var rules map[string]Rule
	for i := range all {
		if all[i].Crowd == nil {
			continue
		}
		if rules == nil {
			rules = v.rulesByName()
		}
		v.addCrowd(&all[i], rules)
	}
}

func (v *View) rulesByName() map[string]Rule {
	rules := make(map[string]Rule)
	for _, r := range v.reader.Rules() {
		rules[r.Name] = r
	}
	return rules
}

// addCrowd is addCrowds for one, and returns its members.
func (v *View) addCrowd(a *Attack, rules map[string]Rule) []attack.Comer {
	c, rule := a.Crowd, rules[a.Rules[0]]
	c.Unit = v.reader.Unit(a.Rules[0], v.events.node)
	if learned := rule.Learned; learned != nil && learned.Days >= learned.Needed {
		c.Ordinary = learned.Usual
	}
	came, kept := v.reader.Crowd(a.Rules[0], c.Key, a.Began)
	if kept = kept && (a.GoesOn() || !came.Began.After(a.Ended)); !kept {
		came = attack.Crowd{}
	}
	if c.Count = max(c.Count, came.Most); c.Count > 0 && len(c.Nodes) > 0 {
		c.Nodes = append([]NodeCount{{v.events.node, c.Count}}, c.Nodes...)
	}
	c.Members, c.More, c.Says = len(came.Members), came.Rest, c.sentence(&rule)
	for i := range came.Members {
		m := &came.Members[i]
		switch {
		case m.Waits:
			c.Waiting++
		case !m.Succeeded:
			c.Failed++
		}
		if m.MayBeCustomer {
			c.MayBeCustomers++
		}
	}
	for _, one := range came.Agents {
		if !v.discreet {
			c.Agents = append(c.Agents, CrowdAgent{one.Text, one.Share})
		}
	}
	return came.Members
}

// sentence says what a crowd does: "more than 400 addresses failed at /login; on an ordinary day 9".
func (c *Crowd) sentence(r *Rule) string {
	says := strings.Replace(c.amount(r), "different addresses", "addresses", 1)
	at := " at "
	switch {
	case r.SparesOutages && c.Unit.Exact > 0:
		says += " failed"
	case r.SparesOutages:
		says += " that failed"
	case c.Unit.Exact == 0:
		at = " of "
	}
	if path, only := strings.CutPrefix(c.Key, "path="); only && !strings.Contains(path, " ") {
		says += at + path
	} else if c.Key != "" {
		says += at + c.Key
	}
	if c.Ordinary > 0 {
		says += "; on an ordinary day " + c.Unit.Amount(c.Ordinary)
	}
	return says
}

// amount says how many there are. Different addresses of several nodes are not added up: each may have come to all.
func (c *Crowd) amount(r *Rule) string {
	if len(c.Nodes) < 2 && c.Count > 0 {
		return c.Unit.Of(c.Count)
	}
	most, sum := uint32(0), uint64(0)
	for _, n := range c.Nodes {
		most, sum = max(most, n.Count), sum+uint64(n.Count)
	}
	switch {
	case len(c.Nodes) < 2, r.Scope == "fleet", c.Unit.Exact > 0 && most > c.Unit.Exact:
		return c.Unit.Of(most)
	case r.Distinct != "":
		return "between " + c.Unit.Amount(most) + " and " + words.Number(sum) + " " + c.Unit.Many
	}
	return c.Unit.Of(uint32(min(sum, math.MaxUint32)))
}

// Comers returns who came to a crowd until a time; none if there is no such attack, or if that is not known.
func (v *View) Comers(ctx context.Context, id string, until time.Time) (all []Comer) {
	d, _ := v.AttackDetail(ctx, id, netip.Prefix{}, math.MaxInt-1)
	return slices.DeleteFunc(d.Comers, func(m Comer) bool { return m.Since.After(until) })
}

// addComers adds a page of its members to a crowd, those behind a prefix.
func (v *View) addComers(d *AttackDetail, after netip.Prefix, limit int) {
	if d.Crowd == nil {
		return
	}
	all := v.addCrowd(&d.Attack, v.rulesByName())
	if after.IsValid() {
		first, _ := slices.BinarySearchFunc(all, after, func(m attack.Comer, after netip.Prefix) int { return cmp.Or(m.Prefix.Compare(after), -1) })
		all = all[first:]
	}
	if len(all) > limit {
		all = all[:limit]
		d.Next = all[limit-1].Prefix.String()
	}
	for i := range all {
		m := &all[i]
		d.Comers = append(d.Comers, Comer{m.Prefix, m.First, m.Succeeded, m.Waits, m.MayBeCustomer})
	}
}

// SaysWho says who came to a crowd; nothing where that is not known.
func (c *Crowd) SaysWho() string {
	if c.Members == 0 {
		return ""
	}
	says := words.Plural(c.Members, "member", "members")
	if c.More > 0 {
		says += " and about " + words.Number(c.More) + " more"
	}
	says += " came since it was over half of the limit"
	if c.Failed > 0 || c.Waiting == 0 {
		says += "; " + words.Number(c.Failed) + " did not succeed within half an hour"
	}
	if c.Waiting > 0 {
		says += "; whether " + words.Number(c.Waiting) + " of them succeed is known half an hour after they came"
	}
	if c.MayBeCustomers > 0 {
		says += "; " + words.Number(c.MayBeCustomers) + " were served pages before and may be customers"
	}
	return says
}

// MayBeWanted reports whether a member succeeded, or was served pages of the site before: who blocks the others at once
// leaves it out.
func (c Comer) MayBeWanted() bool { return c.Succeeded || c.MayBeCustomer }

// Did says whether a member succeeded.
func (c *Comer) Did() string {
	switch {
	case c.Succeeded:
		return "succeeded"
	case c.Waits:
		return "not yet"
	}
	return "did not succeed"
}

// searchedCrossings is how many crossings of a rule are looked at for those of one of its keys.
const searchedCrossings = 10_000

// ExplainKey returns the state of a key without an address, with its attributes as shown; false if the rule has no such
// keys.
func (v *View) ExplainKey(ctx context.Context, rule, with string) (x KeyExplanation, found bool) {
	x.Time = v.reader.Now().UTC()
	if x.Rule, found = v.reader.ExplainKey(x.Time, rule, with); !found {
		return x, false
	}
	x.Rule.Does, x.Crossings = x.Rule.Action.String(), []Event{}
	searched := 0
	for entry := range v.events.log.Find(ctx, eventlog.Query{Rule: rule, Kinds: []string{EventCrossing}, Newest: true}) {
		var event Event
		if searched++; searched > searchedCrossings || len(x.Crossings) == crossingsLength {
			break
		}
		if json.Unmarshal(entry.Body, &event) == nil && everybodys(&event) != nil && event.Crossing.Key == x.Rule.Key {
			event.ID = strconv.FormatUint(entry.Number, 10)
			x.Crossings = append(x.Crossings, event)
		}
	}
	return x, true
}
