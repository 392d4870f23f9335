package config_test

import (
	"strings"
	"testing"

	"edgeguard/config"
)

// check says which rules count no failures while the site fails, where, and which are not.
func TestOutageNotes(t *testing.T) {
	for text, want := range map[string][]string{
		"rules: [{name: site, threshold: 100}]":                           nil,
		"rules: [{name: errors, threshold: 100, match: {status: [404]}}]": {"rule errors goes by the status, and counts no failures", "each log", "20 visitors a minute"},
		"own_hosts: [a.example, b.example]\nrules: [{name: errors, threshold: 100, when: 'status == 404'}, {name: more, threshold: 9, match: {status: [4xx]}}]": {"rules errors, more go by the status, and count", "the 2 own_hosts"},
		"rules: [{name: ssh, threshold: 9, match: {kind: auth_failure}}]":                                                                                       {"rule ssh counts failed logins that services report"},
	} {
		c, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(c.OutageNotes(), "\n")
		if want == nil && said != "" {
			t.Errorf("%s: %s", text, said)
		}
		for _, part := range want {
			if !strings.Contains(said, part) {
				t.Errorf("%s: no %q in %s", text, part, said)
			}
		}
	}
}
