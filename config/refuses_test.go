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

// A status that who is served gets, too, would hide that a block is not in force.
func TestRefusedWithWarns(t *testing.T) {
	for status, warns := range map[string]bool{"200": true, "204": true, "304": true, "404": true, "302": false, "401": false, "503": false} {
		c, err := config.Parse("f", []byte("sensors: {accesslog: {file: /a, refused_with: [418, "+status+"]}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, w := range c.Warnings {
			if strings.Contains(w.Path, "refused_with") {
				got += w.String()
			}
		}
		if warns != strings.Contains(got, "refused_with[1]: "+status+" is also what") || !warns && got != "" {
			t.Errorf("%s: %q", status, got)
		}
	}
}
