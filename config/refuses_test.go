package config_test

import (
	"strings"
	"testing"

	"edgeguard/config"
)

// What is said of the mode follows from what is configured: that proxies ask, or read a
// list, is in no config.
func TestRefuses(t *testing.T) {
	const log = "sensors: {accesslog: [{file: /a}]}\n"
	for text, want := range map[string]string{
		log:                     "enforce: addresses over a limit are blocked, and this config has no way that refuses them; `edgeguard snippets` prints what a proxy needs",
		"mode: monitor\n" + log: "monitor: nothing is enforced, everything is reported",
		"listen: {auth: ['127.0.0.1:9180'], admin: []}\n" + log:                                                                                               "enforce: addresses over a limit are blocked, and refused by what goes by forward auth at 127.0.0.1:9180 (edgeguard snippets)",
		"haproxy: {peers: [{listen: 'unix:/p', user: haproxy, enforce: false}]}\n":                                                                            "enforce: addresses over a limit are blocked, and this config has no way that refuses them; `edgeguard snippets` prints what a proxy needs",
		"haproxy: {peers: [{listen: 'unix:/p', user: haproxy}], spoe: [{listen: 'unix:/s', user: haproxy}]}\nenforce: {files: [{file: /l, format: plain}]}\n": "enforce: addresses over a limit are blocked, and refused by what goes by SPOE at unix:/s, HAProxy's peers at unix:/p or the list /l (edgeguard snippets)",
		"enforce: {nftables: {}}\n":              "enforce: addresses over a limit are blocked, and refused by what goes by the packet filter, table edgeguard (edgeguard snippets)",
		"enforce: {nftables: {dry_run: true}}\n": "enforce: addresses over a limit are blocked, and this config has no way that refuses them; `edgeguard snippets` prints what a proxy needs",
	} {
		if !strings.Contains(text, "listen: {auth") {
			text = "listen: {auth: []}\n" + text
		}
		c, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := c.Refuses(); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
