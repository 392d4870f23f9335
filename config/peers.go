package config

import (
	"edgeguard"
	"edgeguard/haproxy"
)

// peersLeave returns why HAProxy's tables cannot count a rule, by the rules' names.
// It is empty where they count nothing.
func (c *Config) peersLeave() map[string]string {
	why := map[string]string{}
	if c.HAProxy.Counts() {
		for _, left := range haproxy.ColumnsOf(c.Rules).Left {
			why[left.Rule] = left.Reason
		}
	}
	return why
}

// peersCount returns what HAProxy's tables count.
func (c *Config) peersCount() (kinds edgeguard.Kind) {
	if c.HAProxy.Counts() {
		for _, column := range haproxy.ColumnsOf(c.Rules).List {
			kinds |= c.Rules.Meters[column.Meter].Kind
		}
	}
	return kinds
}
