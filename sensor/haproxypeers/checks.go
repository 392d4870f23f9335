package haproxypeers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgeguard/haproxy/peers"
)

// fix is what puts haproxy.cfg and the rules in agreement.
const fix = "put what `edgeguard snippets haproxy-peers` prints into haproxy.cfg, and reload HAProxy"

// checks compare the tables that a HAProxy defines with those that edgeguard counts
// and teaches. The wire has a table's name and how many counters it has, not what
// they count: so the name says that, too.
type checks struct {
	counts *peers.Definition // the table that is counted; nil while there is none
	at     int               // where its counters are among the numbers of an update
	tables map[string]string // the tables that concern edgeguard: what is wrong with each, if anything
	whole  bool              // all tables were defined once
}

// define looks at a definition.
func (c *checks) define(d *peers.Definition, config *Config) {
	if c.tables == nil {
		c.tables = map[string]string{}
	}
	name := strings.TrimPrefix(d.Name, "/")
	switch {
	case config.Columns > 0 && name == config.Table:
		c.tables[name] = c.countable(d, config)
	case config.Alike != nil && config.Alike(name):
		c.tables[name] = "it has other rules than this node"
		if config.Columns == 0 {
			c.tables[name] = "this node has no rule that HAProxy could count"
		}
	default:
		for i := range config.Blocks {
			if config.Blocks[i].Name == d.Name {
				c.tables[name] = teachable(d, &config.Blocks[i])
			}
		}
	}
}

// countable returns what is wrong with the table of counts, and remembers it if
// nothing is.
func (c *checks) countable(d *peers.Definition, config *Config) string {
	at, elements := d.Place(peers.GPC)
	switch {
	case d.Key != peers.IPv6:
		return "its keys are not of type ipv6"
	case elements != config.Columns:
		return fmt.Sprintf("it stores %d counters (gpc), and the rules have %d", elements, config.Columns)
	}
	c.counts, c.at = d, at
	return ""
}

// teachable returns what is wrong with a table of blocks. HAProxy ignores what it is
// taught of a table with another type of keys.
func teachable(d, want *peers.Definition) string {
	if d.Key != want.Key || d.KeyBytes != want.KeyBytes {
		return "its keys are not of type ipv6"
	}
	for _, s := range want.Stored {
		if _, elements := d.Place(s.Type); elements < s.Elements {
			return "it does not store what is taught"
		}
	}
	return ""
}

// wrong returns what is wrong with the tables of a HAProxy, a sentence each. A table
// is missing only after HAProxy has defined all that it has.
func (c *checks) wrong(config *Config) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		if text := c.tables[name]; text != "" {
			all = append(all, fmt.Sprintf("table %s is not used: %s", name, text))
		}
	}
	missing := func(name, what string) {
		if _, defined := c.tables[name]; c.whole && !defined {
			all = append(all, fmt.Sprintf("%s: there is no table %s", what, name))
		}
	}
	if config.Columns > 0 {
		missing(config.Table, "no request is counted")
	}
	for i := range config.Blocks {
		missing(strings.TrimPrefix(config.Blocks[i].Name, "/"), "no address is refused by it")
	}
	return all
}
