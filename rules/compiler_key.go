package rules

import (
	"fmt"
	"slices"
	"strings"
)

// widestV6With is the longest IPv6 prefix of a key with attributes, which take 8 of a
// key's 16 bytes.
const widestV6With = 64

// compileKey compiles what is counted together.
func (c *compiler) compileKey(m *Meter, g *Group) (canonical string) {
	m.V4 = c.bits("key.address.v4", g.V4, DefaultV4, 32)
	m.V6 = c.bits("key.address.v6", g.V6, DefaultV6, 128)
	for i, text := range g.With {
		a, ok := parseAttribute(text)
		if !ok {
			c.problem(itemPath("key.with", i), flaw{
				fmt.Sprintf("invalid attribute %.40q", text),
				`use host, path, method, node or "header:Name"`,
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
	return fmt.Sprintf("key=%d,%d %v", m.V4, m.V6, m.Attributes)
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
