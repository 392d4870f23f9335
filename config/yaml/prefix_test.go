package yaml_test

import (
	"strings"
	"testing"

	"edgeguard/config/yaml"
)

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.0/24": "192.0.2.0/24", "192.0.2.1": "192.0.2.1/32", "2001:db8::/32": "2001:db8::/32", "::1": "::1/128", "::/0": "::/0",
	} {
		if p, wrong, _ := yaml.ParsePrefix(text); wrong != "" || p.String() != want {
			t.Errorf("%s: %v, %s; want %s", text, p, wrong, want)
		}
	}
	for text, says := range map[string]string{
		"": "invalid prefix", "01.2.3.4": "without leading zeros", "192.0.2.5/24": "use 192.0.2.0/24 or 192.0.2.5", "fe80::1%eth0": "remove the zone",
		"::ffff:192.0.2.1": "use 192.0.2.1", "192.0.2.0/33": "invalid prefix", "example.org": "invalid prefix", strings.Repeat("1", 500): "invalid prefix",
	} {
		_, wrong, fix := yaml.ParsePrefix(text)
		if !strings.Contains(wrong+"; "+fix, says) || fix == "" || len(wrong) > 200 {
			t.Errorf("%.40q: %s; %s, want %s", text, wrong, fix, says)
		}
	}
}
