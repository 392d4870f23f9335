package haproxy

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// A set of blocked prefixes as entries of HAProxy's stick tables.
//
// A stick table finds a key and no prefix, so that a request is looked up once for each
// of a few prefix lengths, in a table for each: masked to two lengths, an address may be
// the same key twice. The value [BlockedGPT] refuses, [Spared] does not, and the longest
// prefix decides. A prefix of another length becomes several entries, or a blocked one
// around spared ones, where that is few.

// The values of an entry; 0 is as if there were none.
const (
	BlockedGPT uint32 = 1
	Spared     uint32 = 2
)

// BlockTable is one stick table, of a prefix length for each family.
type BlockTable struct {
	Name string
	// Expire is how long HAProxy keeps an entry that it is not taught again. It is
	// longer for longer prefixes, so that what is spared is so for longer than the
	// block around it is in force.
	Expire time.Duration
	v4, v6 int // prefix lengths; 0 for none
}

// BlockTables returns the tables, those of the longest prefixes first.
func BlockTables() []BlockTable { return tables[:] }

var tables = [...]BlockTable{
	{"blocks_128", 300 * time.Second, 0, 128},
	{"blocks_32_64", 280 * time.Second, 32, 64},
	{"blocks_24_56", 260 * time.Second, 24, 56},
	{"blocks_16_48", 240 * time.Second, 16, 48},
}

// BlockTableLines returns the lines of a peers section that declare the tables.
func BlockTableLines() string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "table %s type ipv6 size 1m expire %ds store gpt0\n", t.Name, t.Expire/time.Second)
	}
	return b.String()
}

// refusedVar is the variable with what the longest prefix says.
const refusedVar = "txn.eg_block"

// IfBlocked is the condition for blocked requests, after the lines of Frontend.
const IfBlocked = "{ var(" + refusedVar + ") -m int 1 }"

// BlockRuleLines returns the lines of a frontend that look its client up in the tables of a
// peers section.
func BlockRuleLines(peers string) string {
	var b strings.Builder
	for i := len(tables) - 1; i >= 0; i-- {
		t := tables[i]
		found := fmt.Sprintf("src,ipmask(%d,%d),table_gpt0(%s/%s)", max(t.v4, 32*(1-min(t.v4, 1))), t.v6, peers, t.Name)
		fmt.Fprintf(&b, "http-request set-var(%s) %s", refusedVar, found)
		if i < len(tables)-1 {
			fmt.Fprintf(&b, " if { %s gt 0 }", found)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// BlockKey is a key of one of the tables.
type BlockKey struct {
	Table int // index in Tables
	Addr  netip.Addr
}

// BlockEntry is what a key is to say, and until when.
type BlockEntry struct {
	Value uint32
	Until time.Time
}

// prefixBits returns the table's prefix length for a family; 0 for none.
func (t *BlockTable) prefixBits(v4 bool) int {
	if v4 {
		return t.v4
	}
	return t.v6
}

// BlockKeyOf returns the key of a prefix, if it has the length of a table.
func BlockKeyOf(p netip.Prefix) (BlockKey, bool) {
	for i := range tables {
		if tables[i].prefixBits(p.Addr().Is4()) == p.Bits() && p.Bits() > 0 {
			return BlockKey{i, p.Addr()}, true
		}
	}
	return BlockKey{}, false
}

// Prefix returns the prefix of a key.
func (k BlockKey) Prefix() netip.Prefix {
	return netip.PrefixFrom(k.Addr, tables[k.Table].prefixBits(k.Addr.Is4()))
}
