package config

import "edgeguard"

// Ways names what can refuse what this node blocks: the listeners at which proxies ask, and
// what has a copy of the blocks. Whether anybody goes by them is not in a config.
func (c *Config) Ways() (all []string) {
	for _, l := range c.Listeners() {
		if l.Asked != "" {
			all = append(all, l.Asked+" at "+l.Address.String())
		}
	}
	return append(all, c.Copies()...)
}

// Copies names what has a copy of the blocks and refuses by it: lists, and bouncers.
func (c *Config) Copies() (all []string) {
	for _, e := range c.Entries() {
		if e.copies != "" {
			all = append(all, e.copies)
		}
	}
	return all
}

// Tells reports whether a log says what became of each request, and no stranger can write
// it.
func (c *Config) Tells() bool {
	for i := range c.Sensors.AccessLog {
		l := &c.Sensors.AccessLog[i]
		s := logSource(l.Format)
		if s.kinds&l.Emit&(edgeguard.KindRequest|edgeguard.KindResponse) != 0 && s.fields&edgeguard.FieldStatus != 0 &&
			(l.Listen.Network != "udp" || l.Listen.Local()) {
			return true
		}
	}
	return false
}

// Refuses says what the mode does to an address over a limit, as far as a config knows.
func (c *Config) Refuses() string {
	ways := c.Ways()
	switch {
	case c.Monitor:
		return "monitor: nothing is enforced, everything is reported"
	case len(ways) == 0:
		return "enforce: addresses over a limit are blocked, and this config has no way that refuses them; `edgeguard snippets` prints what a proxy needs"
	}
	text := "enforce: addresses over a limit are blocked, and refused by what goes by "
	for i, way := range ways {
		switch {
		case i > 0 && i == len(ways)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += way
	}
	return text + " (edgeguard snippets)"
}
