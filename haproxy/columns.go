package haproxy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"edgeguard"
	"edgeguard/rules"
)

// The rules that HAProxy can count in place of a node, as they stand in haproxy.cfg.
//
// HAProxy keeps an array of counters for each client, and peers receive the array without
// names. So a meter is a column, and all that gives the columns their meaning is hashed
// into the table's name: two programs with other columns have another table, and a table
// with an unknown name counts nothing.

const (
	// mostColumns is how many columns HAProxy's tables can have.
	mostColumns = 100
	// keyV4 and keyV6 are the prefix lengths of the keys that HAProxy counts.
	keyV4, keyV6 = 32, 64
	// tablePrefix begins the names of tables with counts.
	tablePrefix = "counts_"
	// meaning is of the text that conditions become: another one gives columns another
	// meaning, and so another digest.
	meaning = "2"
)

// Columns are the columns of one table. They do not change and are safe for concurrent
// use.
type Columns struct {
	List []Column
	Left []LeftOut
	// Digest is 16 hex digits of a hash over the order of the columns and over all that
	// changes what they count.
	Digest string
}

// Column is one counter: each step of it is Cost more for the meter. Several columns may
// be of one meter.
type Column struct {
	Meter int // index in Set.Meters
	Cost  uint16

	rules string // names, for people
	terms rules.Terms
	kind  edgeguard.Kind
}

// LeftOut is a rule that HAProxy cannot count, with the reason as the end of a sentence
// about the rule: "its key has more than the address".
type LeftOut struct{ Rule, Reason string }

// ColumnsOf returns the columns of the rules in force, in the order of their meters.
func ColumnsOf(set *rules.Set) *Columns {
	c := &Columns{}
	hash := sha256.New()
	fmt.Fprintln(hash, meaning)
	for i := range set.Meters {
		m := &set.Meters[i]
		terms := m.Terms()
		reason := cannot(m, &terms)
		if reason == "" && len(c.List) == mostColumns {
			reason = fmt.Sprintf("HAProxy's tables have at most %d counters", mostColumns)
		}
		var names []string
		for _, r := range m.Rules {
			names = append(names, set.Rules[r].Name)
			if reason != "" {
				c.Left = append(c.Left, LeftOut{set.Rules[r].Name, reason})
			}
		}
		if reason != "" {
			continue
		}
		fmt.Fprintln(hash, m.Fingerprint, terms.Cost)
		c.List = append(c.List, Column{Meter: i, Cost: terms.Cost, rules: strings.Join(names, ", "), terms: terms, kind: m.Kind})
	}
	c.Digest = hex.EncodeToString(hash.Sum(nil)[:8])
	return c
}

// Table returns the name of the table as haproxy.cfg declares it in its peers section;
// empty without columns. On the wire it has a slash before it.
func (c *Columns) Table() string {
	if len(c.List) == 0 {
		return ""
	}
	return tablePrefix + c.Digest
}

// Every returns the column that counts each request, if there is one.
func (c *Columns) Every() (column int, ok bool) {
	for i := range c.List {
		if t := &c.List[i].terms; t.Fields == 0 && t.NotKinds == 0 && c.List[i].kind == edgeguard.KindRequest {
			return i, true
		}
	}
	return 0, false
}

// IsCountTable reports whether a table's name, as haproxy.cfg declares it, is that of a table
// with columns, of whatever rules.
func IsCountTable(name string) bool { return strings.HasPrefix(name, tablePrefix) }

// cannot returns why HAProxy cannot count a meter; empty if it can.
func cannot(m *rules.Meter, t *rules.Terms) string {
	switch {
	case m.Kind != edgeguard.KindRequest && m.Kind != edgeguard.KindResponse:
		return fmt.Sprintf("it counts the kind %v, and HAProxy counts request and response", m.Kind)
	case t.NotKinds != 0:
		return "its match.not names a kind"
	case t.Uncountable != nil:
		return "its match asks for " + strings.Join(t.Uncountable, ", ")
	case t.When:
		return "its when: is evaluated by edgeguard alone"
	case m.Distinct != 0:
		return "it counts different values, and HAProxy counts requests"
	case m.Everybody:
		return "its key has no address, and HAProxy counts by address"
	case len(m.Attributes) > 0:
		return "its key has more than the address"
	case m.V6 > keyV6:
		return fmt.Sprintf("its key has %d bits of an IPv6 address, and HAProxy counts by /%d", m.V6, keyV6)
	case t.Costs:
		return "its cost depends on the request"
	}
	for _, texts := range []rules.Texts{t.Host, t.Method, t.Path} {
		for _, glob := range append(texts.Any[:len(texts.Any):len(texts.Any)], texts.None...) {
			if strings.ContainsFunc(strings.Join(glob, ""), isControl) {
				return "its match has a control character"
			}
		}
	}
	return ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
