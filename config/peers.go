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

// beyondPeers warns of rules that deny, where HAProxy is only taught whom to block: it
// refuses all of an address or nothing.
func (r *reader) beyondPeers(c *Config) {
	if !c.HAProxy.Enforces() || r.Known("listen.auth") || len(c.HAProxy.SPOE) > 0 {
		return
	}
	for i := range c.Rules.Rules {
		if c.Rules.Rules[i].Action == edgeguard.ActionDeny {
			r.Warn(r.rulePath(i), "denies only the requests that match, which HAProxy cannot be taught: they pass", "set action: block, or have HAProxy ask (haproxy.spoe)")
		}
	}
}
