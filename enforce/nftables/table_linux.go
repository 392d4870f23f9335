package nftables

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// Names in the table.
const (
	// mark is an empty chain that says who made the table. A comment of the table
	// would do, but older kernels drop it.
	mark      = "made_by_edgeguard"
	prerouted = "prerouting"
	ingress   = "ingress"
)

// length is one length of prefix, which has a set.
type length struct {
	v6   bool
	bits int
}

func lengthOf(p netip.Prefix) length { return length{p.Addr().Is6(), p.Bits()} }

func (l length) size() int {
	if l.v6 {
		return 128
	}
	return 32
}

func (l length) family() string {
	if l.v6 {
		return "6"
	}
	return "4"
}

// setName is the name of the length's set.
func (l length) setName() string {
	if l.bits == l.size() {
		return "blocked" + l.family()
	}
	return fmt.Sprintf("blocked%s_%d", l.family(), l.bits)
}

func (l length) compare(other length) int {
	if l.v6 != other.v6 {
		if l.v6 {
			return 1
		}
		return -1
	}
	return other.bits - l.bits // the longest first
}

// lengthNamed returns the length of a set's name.
func lengthNamed(set string) (l length, ok bool) {
	family, isLength := strings.CutPrefix(set, "blocked")
	family, bits, cut := strings.Cut(family, "_")
	if !isLength || family != "4" && family != "6" {
		return length{}, false
	}
	l.v6 = family == "6"
	l.bits = l.size()
	if cut {
		l.bits, _ = strconv.Atoi(bits)
	}
	return l, l.setName() == set
}

// lengths are prefix lengths, each once.
type lengths []length

func (l *lengths) add(one length) {
	if !slices.Contains(*l, one) {
		*l = append(*l, one)
	}
}

// usual are the lengths of keys, whose sets are always there.
var usual = lengths{{false, 32}, {true, 64}, {true, 128}}

// layout is the table without its elements.
type layout struct {
	config  Config
	lengths lengths // sorted
}

func newLayout(c Config, more lengths) layout {
	all := slices.Concat(usual, more)
	slices.SortFunc(all, length.compare)
	return layout{c, slices.Compact(all)}
}

func (l layout) table() *nftables.Table {
	family := nftables.TableFamilyINet
	if l.config.Device != "" {
		family = nftables.TableFamilyNetdev
	}
	return &nftables.Table{Name: l.config.Table, Family: family}
}

// otherTable is where the table was while Device was set, or was not.
func (l layout) otherTable() *nftables.Table {
	if l.config.Device != "" {
		return &nftables.Table{Name: l.config.Table, Family: nftables.TableFamilyINet}
	}
	return &nftables.Table{Name: l.config.Table, Family: nftables.TableFamilyNetdev}
}

// base is the chain that packets go through.
func (l layout) base() *nftables.Chain {
	policy := nftables.ChainPolicyAccept
	c := &nftables.Chain{
		Name: prerouted, Table: l.table(), Type: nftables.ChainTypeFilter, Policy: &policy,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRaw,
	}
	if l.config.Device != "" {
		c.Name, c.Hooknum, c.Device = ingress, nftables.ChainHookIngress, l.config.Device
		c.Priority = nftables.ChainPriorityRef(0)
	}
	return c
}

// emptySets are the sets of a layout, without their elements.
func (l layout) emptySets() (all []*nftables.Set) {
	for _, length := range l.lengths {
		all = append(all, l.namedSet(length.setName(), length.v6))
	}
	return append(all, l.spared(false), l.spared(true))
}

// spared is the set of addresses of a family that are not refused.
func (l layout) spared(v6 bool) *nftables.Set {
	return l.namedSet("spared"+length{v6: v6}.family(), v6)
}

func (l layout) namedSet(name string, v6 bool) *nftables.Set {
	s := &nftables.Set{Table: l.table(), Name: name, HasTimeout: true, KeyType: nftables.TypeIPAddr}
	if v6 {
		s.KeyType = nftables.TypeIP6Addr
	}
	return s
}

// counter is the name of the counter of a family's packets.
func (l layout) counter(v6 bool) string {
	name := "dropped"
	if l.config.DryRun {
		name = "passed"
	}
	return name + length{v6: v6}.family()
}

// chain is a chain with its rules.
type chain struct {
	*nftables.Chain
	rules [][]expr.Any
}

// chains are all chains of a layout: a rule goes only to chains before its own.
func (l layout) chains() []chain {
	base := chain{Chain: l.base()}
	for _, length := range l.lengths {
		rule := append(l.source(length), &expr.Lookup{SourceRegister: 1, SetName: length.setName()},
			&expr.Verdict{Kind: expr.VerdictGoto, Chain: "refuse" + length.family()})
		base.rules = append(base.rules, rule)
	}
	return []chain{{Chain: &nftables.Chain{Name: mark, Table: l.table()}}, l.refuse(false), l.refuse(true), base}
}

// refuse is the chain for packets of blocked addresses of one family. Only they pay
// for its rules.
func (l layout) refuse(v6 bool) chain {
	whole := length{v6, length{v6: v6}.size()}
	accept := &expr.Verdict{Kind: expr.VerdictAccept}
	all := [][]expr.Any{{&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}, equal([]byte("lo\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")), accept}}
	if v6 {
		linkLocal := append(l.source(length{true, 10}), equal(netip.MustParseAddr("fe80::").AsSlice()), accept)
		all = append(all, linkLocal, l.neighbours(accept))
	}
	for _, port := range l.config.SparePorts {
		all = append(all, []expr.Any{
			&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equal([]byte{unix.IPPROTO_TCP}),
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
			equal(binary.BigEndian.AppendUint16(nil, port)), accept,
		})
	}
	all = append(all, append(l.source(whole), &expr.Lookup{SourceRegister: 1, SetName: "spared" + whole.family()}, accept))
	if !l.config.Forward {
		all = append(all, []expr.Any{
			&expr.Fib{Register: 1, FlagDADDR: true, ResultADDRTYPE: true},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(unix.RTN_LOCAL)}, accept,
		})
	}
	last := []expr.Any{&expr.Objref{Type: unix.NFT_OBJECT_COUNTER, Name: l.counter(v6)}}
	if !l.config.DryRun {
		last = append(last, &expr.Verdict{Kind: expr.VerdictDrop})
	}
	return chain{&nftables.Chain{Name: "refuse" + whole.family(), Table: l.table()}, append(all, last)}
}

// neighbours spares what finds routers and neighbours: without it, an address of the
// own link could not be reached by anyone.
func (l layout) neighbours(accept expr.Any) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equal([]byte{unix.IPPROTO_ICMPV6}),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 0, Len: 1},
		&expr.Cmp{Op: expr.CmpOpGte, Register: 1, Data: []byte{133}},
		&expr.Cmp{Op: expr.CmpOpLte, Register: 1, Data: []byte{137}}, accept,
	}
}

// source loads the source address, cut to a length. The family comes first in each
// rule, because nft can show the rest only then.
func (l layout) source(cut length) []expr.Any {
	protocol := &expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}
	is := equal([]byte{unix.NFPROTO_IPV4})
	from := &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}
	if cut.v6 {
		is, from = equal([]byte{unix.NFPROTO_IPV6}), &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 8, Len: 16}
	}
	if l.config.Device != "" {
		protocol.Key = expr.MetaKeyPROTOCOL
		is = equal(binary.BigEndian.AppendUint16(nil, unix.ETH_P_IP))
		if cut.v6 {
			is = equal(binary.BigEndian.AppendUint16(nil, unix.ETH_P_IPV6))
		}
	}
	rule := []expr.Any{protocol, is, from}
	if cut.bits < cut.size() {
		mask := make([]byte, from.Len)
		for bit := range cut.bits {
			mask[bit/8] |= 0x80 >> (bit % 8)
		}
		rule = append(rule, &expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: from.Len, Mask: mask, Xor: make([]byte, from.Len)})
	}
	return rule
}

func equal(data []byte) expr.Any { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data} }

// rulesVersion is part of each rule's comment: raise it when the rules change, so that
// a later version makes the rules of an earlier one again.
const rulesVersion = 1

// ruleComments returns the comments of the rules of each chain: from them it is seen whether
// somebody changed a chain. The kernel gives expressions back in another form than it
// took them.
func (l layout) ruleComments() map[string][]string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %+v %v", rulesVersion, l.config, l.lengths)
	tags := make(map[string][]string)
	for _, c := range l.chains() {
		tags[c.Name] = nil
		for i := range c.rules {
			tags[c.Name] = append(tags[c.Name], fmt.Sprintf("edgeguard %016x.%d", h.Sum64(), i+1))
		}
	}
	return tags
}

// build adds to c what makes the table, out of what is there. Elements and counters
// stay.
func (l layout) build(c *nftables.Conn, there *found) error {
	if there.other {
		c.DelTable(l.otherTable())
	}
	c.AddTable(l.table())
	if there.ours {
		c.FlushTable(l.table())
		for name := range there.tags {
			if name != mark {
				c.DelChain(&nftables.Chain{Name: name, Table: l.table()})
			}
		}
	}
	wanted := l.emptySets()
	for _, s := range there.sets {
		if !slices.ContainsFunc(wanted, func(w *nftables.Set) bool { return sameSet(s, w) }) {
			c.DelSet(&nftables.Set{Name: s.Name, Table: l.table()})
		}
	}
	for i, s := range wanted {
		if !there.hasSet(s) {
			s.ID = uint32(i + 1) // or the library takes one of a counter that all goroutines share
			if err := c.AddSet(s, nil); err != nil {
				return err
			}
		}
	}
	for _, v6 := range []bool{false, true} {
		c.AddObj(&nftables.NamedObj{Table: l.table(), Name: l.counter(v6), Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
	}
	tags := l.ruleComments()
	for _, chain := range l.chains() {
		c.AddChain(chain.Chain)
		for i, rule := range chain.rules {
			comment := userdata.AppendString(nil, userdata.TypeComment, tags[chain.Name][i])
			c.AddRule(&nftables.Rule{Table: l.table(), Chain: chain.Chain, Exprs: rule, UserData: comment})
		}
	}
	return nil
}
