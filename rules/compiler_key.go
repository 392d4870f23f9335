package rules

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
)

// widestV6With is the longest IPv6 prefix of a key with attributes, which take 8 of a
// key's 16 bytes.
const widestV6With = 64

// compileKey compiles what is counted together.
func (c *compiler) compileKey(m *Meter, g *Group) (canonical string) {
	m.V4 = c.bits("key.address.v4", g.V4, DefaultV4, 32)
	m.V6 = c.bits("key.address.v6", g.V6, DefaultV6, 128)
	if m.Everybody = g.Everybody; m.Everybody && (g.V4 != 0 || g.V6 != 0) {
		c.problem("key.address", flaw{"a key without an address has no prefix lengths", "remove them, or set address: {v4: 24, v6: 48}"})
	}
	for i, text := range g.With {
		a, ok := parseAttribute(text)
		if !ok {
			c.problem(itemPath("key.with", i), flaw{
				fmt.Sprintf("invalid attribute %.40q", text),
				`use host, path, method, node, agent, query, "header:Name", "cookie:Name" or "query:Name"`,
			})
			continue
		}
		if slices.Contains(m.Attributes, a) {
			c.problem(itemPath("key.with", i), flaw{fmt.Sprintf("%v is given twice", a), "remove it"})
		}
		m.Attributes = append(m.Attributes, a)
	}
	slices.SortFunc(m.Attributes, func(a, b Attribute) int { return strings.Compare(a.String(), b.String()) })
	if len(m.Attributes) > 0 && m.V6 > widestV6With {
		c.problem("key.address.v6", flaw{
			fmt.Sprintf("with attributes, a key has at most %d bits of an IPv6 address, not %d", widestV6With, m.V6),
			fmt.Sprintf("use v6: %d or less, or remove with", widestV6With),
		})
	}
	if m.Everybody {
		return fmt.Sprintf("key=none %v", m.Attributes)
	}
	return fmt.Sprintf("key=%d,%d %v", m.V4, m.V6, m.Attributes)
}

// checkEverybody holds a rule without an address to what can be done by it: any client can
// bring such a count over the limit, so who refuses by it has to say so.
func (c *compiler) checkEverybody(rule *Rule, spec *Spec, m *Meter) {
	switch {
	case !m.Everybody && spec.Everybody:
		c.problem("everybody", flaw{"the key has an address, so the rule refuses who is over the limit alone", "remove it, or set key: {address: none}"})
	case !m.Everybody:
	case rule.Action == edgeguard.ActionBlock:
		c.problem("action", flaw{
			"a key without an address cannot block: there is no address to refuse",
			"set action: shadow, or action: deny with everybody: true, which refuses what matches for everybody while the count is over the limit",
		})
	case rule.Action == edgeguard.ActionDeny && !spec.Everybody:
		c.problem("action", flaw{
			"deny would refuse what matches for everybody, and any client can bring that about",
			"set everybody: true if that is meant, or action: shadow",
		})
	case rule.Action == edgeguard.ActionDeny && m.CountsAnswers():
		c.problem("action", flaw{
			"the rule counts answers, which cannot be refused any more, and no request is refused by a count without an address",
			"count requests: remove the status, or set action: shadow",
		})
	case rule.Action != edgeguard.ActionDeny && spec.Everybody:
		c.problem("everybody", flaw{"only rules that deny can use it", "remove it, or set action: deny"})
	}
}

func (c *compiler) bits(path string, bits, usual, most int) uint8 {
	if bits == 0 {
		return uint8(usual)
	}
	if bits < 0 || bits > most {
		c.problem(path, flaw{fmt.Sprintf("invalid prefix length %d", bits), fmt.Sprintf("use 1 to %d", most)})
		return uint8(usual)
	}
	return uint8(bits)
}

// checkLearned holds a threshold that is learned to where a wrong one does little: the rule tells, and
// counts what one address adds 1 to.
func (c *compiler) checkLearned(rule *Rule, m *Meter) {
	switch {
	case !rule.Learned:
	case m.Distinct != DistinctAddress:
		c.problem("threshold", flaw{"learned is for rules that count different addresses", "write a number, or set count: {distinct: address}"})
	case rule.Action != edgeguard.ActionShadow:
		c.problem("threshold", flaw{"a threshold that is learned refuses nobody: who attacks for days has a part in it", "write a number, or set action: shadow"})
	}
}
