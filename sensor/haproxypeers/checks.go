package haproxypeers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgeguard/haproxy/peers"
)

// checks compare the tables that a HAProxy defines with those that edgeguard counts
// and teaches. The wire has a table's name and how many counters it has, not what
// they count: so the name says that, too.
type checks struct {
	counts *peers.Definition // the table that is counted; nil while there is none
	at     int               // where its counters are among the numbers of an update
	tables map[uint64]*table // those that concern edgeguard, by their IDs, of which there are few
	whole  bool              // all tables were defined once
}

// table is what was found of one table.
type table struct {
	name, wrong string
	blocks      int // its place in Config.Blocks, -1 for none
	at          int // where what is taught is among the numbers of an update
}

// define looks at a definition, which may take the place of another.
func (c *checks) define(d *peers.Definition, config *Config) {
	if c.counts != nil && c.counts.ID == d.ID {
		c.counts = nil
	}
	delete(c.tables, d.ID)
	t := &table{name: strings.TrimPrefix(d.Name, "/"), blocks: -1}
	switch {
	case config.Columns > 0 && t.name == config.Table:
		t.wrong = c.countable(d, config)
	case config.Alike != nil && config.Alike(t.name):
		t.wrong = "it counts by other rules than those of this node"
	default:
		if t.blocks = slices.IndexFunc(config.Blocks, func(b peers.Definition) bool { return b.Name == d.Name }); t.blocks < 0 {
			return
		}
		t.teachable(d, &config.Blocks[t.blocks])
	}
	if c.tables == nil {
		c.tables = map[uint64]*table{}
	}
	c.tables[d.ID] = t
}

const otherKeys = "its keys are not of type ipv6"

// countable returns what is wrong with the table of counts, and remembers it if
// nothing is.
func (c *checks) countable(d *peers.Definition, config *Config) string {
	at, elements := d.Place(peers.GPC)
	switch {
	case d.Key != peers.IPv6:
		return otherKeys
	case elements != config.Columns:
		return fmt.Sprintf("it stores %d counters (gpc), and the rules of this node have %d", elements, config.Columns)
	}
	c.counts, c.at = d, at
	return ""
}

// teachable finds what is wrong with a table of blocks. HAProxy ignores what it is
// taught of a table with another type of keys.
func (t *table) teachable(d, want *peers.Definition) {
	at, elements := d.Place(want.Stored[0].Type)
	switch t.at = at; {
	case d.Key != want.Key:
		t.wrong = otherKeys
	case elements == 0:
		t.wrong = "it does not store gpt0"
	}
}

// taught returns the table of blocks that an update is of, and what it says.
func (c *checks) taught(u *peers.Update) (table int, value uint32, ok bool) {
	t := c.tables[u.Table.ID]
	if t == nil || t.blocks < 0 || t.wrong != "" {
		return 0, 0, false
	}
	return t.blocks, uint32(u.Numbers[t.at]), true
}

// wrong returns what is wrong with the tables of a HAProxy, a part of a sentence each.
// A table is missing only after HAProxy has defined all that it has.
func (c *checks) wrong(config *Config) (all []string) {
	names := map[string]string{}
	for _, t := range c.tables {
		names[t.name] = t.wrong
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] != "" {
			all = append(all, fmt.Sprintf("table %s is not used: %s", name, names[name]))
		}
	}
	missing := func(name string) {
		if _, defined := names[name]; c.whole && !defined {
			all = append(all, fmt.Sprintf("there is no table %s", name))
		}
	}
	if config.Columns > 0 {
		missing(config.Table)
	}
	for i := range config.Blocks {
		missing(strings.TrimPrefix(config.Blocks[i].Name, "/"))
	}
	return all
}
