package config_test

import (
	"errors"
	"flag"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/config/yaml"
	"edgeguard/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update if it should:\n%s", file, diff)
	}
}

// problems returns what is wrong with a file.
func problems(t *testing.T, text string) []yaml.Fault {
	t.Helper()
	_, err := config.Parse("f", []byte(text))
	if err == nil {
		return nil
	}
	var all *config.Errors
	if !errors.As(err, &all) {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	return all.Problems
}

func TestSixErrors(t *testing.T) {
	_, err := config.Load("testdata/six_errors.yaml")
	var all *config.Errors
	if !errors.As(err, &all) || len(all.Problems) != 6 {
		t.Fatalf("want six problems, got: %v", err)
	}
	golden(t, "six_errors.golden", filepath.ToSlash(err.Error())+"\n")
}

func TestFull(t *testing.T) {
	c, err := config.Load("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !c.Monitor || c.Memory != 256<<20 || c.Node != "edge-fra-1" || len(c.TrustedProxies) != 2 {
		t.Errorf("settings: %+v", c)
	}
	if got := c.Allowlist[1]; got != netip.MustParsePrefix("2001:db8::1/128") {
		t.Errorf("a bare address is %v", got)
	}
	if n := len(c.Rules.Meters); n != 6 {
		t.Errorf("%d meters, want 6: the aliased match has another window", n)
	}
	api := c.Rules.Rules[4]
	if api.Limit != 600 || api.Action != edgeguard.ActionDeny {
		t.Errorf("rule api: %+v", api)
	}
	want := &config.Fleet{
		Redis: []string{"rediss://edge@redis.internal:6379/0"}, Namespace: "shop",
		PasswordFile: "/etc/edgeguard/redis.pass", LoaderFile: "/etc/edgeguard/redis.loader",
		TLS:  config.FleetTLS{CAFile: "/etc/edgeguard/ca.pem", CertFile: "/etc/edgeguard/node.pem", KeyFile: "/etc/edgeguard/node.key", ServerName: "redis.internal"},
		Push: 250 * time.Millisecond, MaxNodes: 20, Quiet: true, Share: 0.333333, ConfirmShare: 0.35, Partitions: 32, MaxSkew: 50 * time.Millisecond, MaxSuspects: 50_000,
	}
	if site := c.Rules.Rules[0]; site.Scope != rules.ScopeFleet || site.OnFleetLoss != rules.LossClosed {
		t.Errorf("rule site: %+v", site)
	}
	if login := c.Rules.Rules[1]; login.Scope != rules.ScopeNode {
		t.Errorf("rule login: %+v", login)
	}
	if diff := cmp.Diff(want, c.Fleet); diff != "" {
		t.Error(diff)
	}
	golden(t, "full.golden", c.YAML())
	var warnings []string
	for _, w := range c.Warnings {
		warnings = append(warnings, w.Path)
	}
	if got := strings.Join(warnings, " "); got != "sensors.accesslog sensors.accesslog[2].listen sensors.accesslog[3].listen sensors.accesslog[4].listen" {
		t.Errorf("warnings at %s", got)
	}
}

// TestYAMLReadsBack holds that what check prints means the same.
func TestYAMLReadsBack(t *testing.T) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(full), "rules: []", "allowlist: []\nlisten: {auth: []}",
		"node: 'null'\nstate: \"/a b\\\"\\x01é\\U0001F600\"\nmemory: 20000001B",
		"enforce: {haproxy: {socket: /a, map: /b}}\nlisten: {auth: [], admin: []}\nsensors: {accesslog: {file: a, emit: [request]}}",
		"enforce: {awswaf: {region: eu-central-1, ipv4: {name: eg4, id: a1b2c3d4-5678-90ab-cdef-000000000001}, credentials_file: /etc/edgeguard/aws, profile: edge}}",
		"enforce: {awswaf: [{scope: CLOUDFRONT, ipv6: {name: '1', id: '7'}, most: 1, every: 10s, mark: eg.staging, on_remove: keep, endpoint: 'http://127.0.0.1:1/'}, {region: cn-north-1, ipv6: {name: '1', id: '8'}}]}",
		"enforce: {cloudflare: {account: 023e105f4ecef8ad9ca31a8372d0c353, list: 2c0fc9fa937b11eaa1b71c4d701ab86e, token_file: '/etc/edgeguard/token of ours', most: 100000, every: 1h, endpoint: 'https://api.example:8443/client/v4'}}",
		"listen: {envoy: ['unix:/a b', {address: '10.0.0.7:9182', tls: {cert_file: /c, key_file: /k, client_ca_file: /ca}, header: Forwarded, fronted: true, emit: nothing, connections: 9, trust: []}, {address: '[::1]:1', tls: {cert_file: /c, key_file: /k}}]}",
		"rules: [{name: a, threshold: 1, when: \"path matches '\\\\\\\\.php' and agent != 'é\\\"'\"}]",
		"rules: [{name: a, threshold: 1, scope: node}, {name: b, threshold: 1, on_fleet_loss: open}]\nfleet: {redis: ['rediss://a', 'rediss://b:1'], quiet: false, share: 0.000001}",
		"wide: strict\nrules: [{name: a, threshold: 1}, {name: b, threshold: 1, wide: default}, {name: c, threshold: 65534, guard: 1, wide: report}]", "wide: off",
		"fleet: {redis: 'redis://a.lan:26379', sentinel: m, namespace: '1', insecure: true}",
		"fleet: {redis: ['redis://a.lan:26379', 'redis://b.lan'], sentinel: m, tls: {}}",
		"fleet: {redis: ['redis://a.lan']}", "fleet: {redis: 'redis://a.lan', key_file: /k}", "fleet: {redis: 'redis://a.lan', key_file: '/k 2', key_mode: require}", "fleet: {redis: 'unix:///run/redis.sock?db=3'}",
		"notify: {webhooks: {name: team, url: 'https://hooks.example/x$$y'}, alertmanager: [{name: am, url: 'http://127.0.0.1:9093', resend: 30s, send: blocks}]}",
		"notify: {webhooks: [{name: a, url_file: /a b, secret_file: /s, template_file: /t, content_type: text/plain, every: 1h, timeout: 5s, fleet: true, ca_file: /c, send: [alarms, blocks], headers: [{name: Title, value: 'a: \"b\"'}, {name: Authorization, file: /h}]}, {name: b, url: 'http://[::1]:1/'}]}",
		"crowdsec: {decisions: {url: 'http://[::1]:8080/', key_file: '/k $$', origins: [CAPI, lists], scenarios_containing: SSH, most: 5, every: 1m}, alerts: {url: 'https://lapi', machine_id: edge-1, password_file: /p, ca_file: /c, manual: true}}",
		"crowdsec: {decisions: {url: 'http://lapi:8080/x/', key_file: /k, insecure: true, scenarios_not_containing: [a, b]}}",
		"rules: [{name: a, threshold: 9, key: {address: none}, action: shadow}, {name: b, threshold: 60000, key: {address: none, with: [path, agent, query, 'cookie:Sid', 'query:a[]', 'header:X-Y']}, action: deny, everybody: true, wide: strict}]",
		"rules: [{name: 'y', threshold: 1, match: {not: {path: '/a b%2A*'}, host: 'x'}, window: 90m}]",
	} {
		c, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		readBack(t, c)
	}
}

// readBack checks that a config's YAML gives the same config.
func readBack(t *testing.T, c *config.Config) {
	t.Helper()
	again, err := config.Parse("again", []byte(c.YAML()))
	if err != nil {
		t.Fatalf("%v\n%s", err, c.YAML())
	}
	same := cmp.Options{
		cmpopts.IgnoreFields(config.Config{}, "Warnings", "Specs", "Asked"), // a spec may leave out what its print gives, and a listener that is printed is asked
		cmpopts.IgnoreUnexported(rules.Set{}, rules.Meter{}), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
	if diff := cmp.Diff(c, again, same); diff != "" {
		t.Fatalf("%s\n%s", diff, c.YAML())
	}
	if again.YAML() != c.YAML() {
		t.Fatalf("prints differently:\n%s\n%s", c.YAML(), again.YAML())
	}
}

// TestDays: durations are read and printed as people write them.
func TestDays(t *testing.T) {
	c, err := config.Parse("f", []byte("rules: [{name: a, threshold: 5, block_for: 30d, escalate: [30d, 31d12h]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if rule := c.Rules.Rules[0]; rule.BlockFor != 720*time.Hour || rule.Escalate[1] != 756*time.Hour {
		t.Errorf("%+v", rule)
	}
	if printed := c.YAML(); !strings.Contains(printed, "block_for: 30d\n") || !strings.Contains(printed, "escalate: [30d, 31d12h]\n") {
		t.Error(printed)
	}
	readBack(t, c)
}

func TestDefault(t *testing.T) {
	c := config.Default()
	if len(c.Rules.Rules) != 1 || c.Fleet != nil || c.Monitor || c.Node == "" || len(c.Warnings) != 0 {
		t.Fatalf("%+v", c)
	}
	rule, meter := c.Rules.Rules[0], c.Rules.Meters[0]
	if rule.Name != "default" || rule.Threshold != 2000 || rule.Limit != 1900 || rule.BlockFor != 10*time.Minute || meter.Window != 5*time.Minute {
		t.Errorf("%+v, %+v", rule, meter)
	}
	for _, text := range []string{"", "# mode: monitor\n", "---\n", "\n\n", "{}\n", "\ufeff"} {
		if _, err := config.Parse("/etc/f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "/etc/f.yaml: has no key") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLoadUnreadable(t *testing.T) {
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := config.Load(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("#", 2<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(large); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("large: %v", err)
	}
}

// The digest of the rules changes with what a rule decides, and with nothing else.
func TestRulesDigest(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		c, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c.RulesDigest()
	}
	const rule, second = "rules:\n  - {name: site, threshold: 2000}\n", "  - {name: login, threshold: 20, match: {path: [/login]}}\n"
	const hosts = "rules:\n  - {name: posts, threshold: 20, match: {path: [/login]}, cost: [{match: {referer: own}, cost: 1}]}\n" // counts by own_hosts
	same := digest(rule)
	if len(same) != 16 {
		t.Errorf("%q", same)
	}
	for _, text := range []string{
		"node: edge-2\nallowlist: [192.0.2.0/24]\n" + rule,
		"# a remark\nrules:\n- threshold: 2000\n  name: site\n  window: 300s\n",
		strings.Replace(rule, "2000}", "2000, candidates: [100, 3000]}", 1),
	} {
		if digest(text) != same {
			t.Errorf("another digest of\n%s", text)
		}
	}
	seen := map[string]string{same: rule}
	for _, text := range []string{
		"rules: []\n",
		strings.Replace(rule, "2000", "2001", 1),
		strings.Replace(rule, "site", "site2", 1),
		strings.Replace(rule, "2000}", "2000, guard: 1}", 1),
		strings.Replace(rule, "2000}", "2000, action: deny}", 1),
		strings.Replace(rule, "2000}", "2000, window: 10m}", 1),
		strings.Replace(rule, "2000}", "2000, block_for: 2h}", 1),
		rule + second,
		"own_hosts: [a.example]\n" + hosts,
		"own_hosts: [b.example]\n" + hosts,
		"rules:\n" + second + strings.TrimPrefix(rule, "rules:\n"),
	} {
		if other := seen[digest(text)]; other != "" {
			t.Errorf("one digest of\n%s\nand\n%s", text, other)
		}
		seen[digest(text)] = text
	}
}

// A byte order mark, which some editors write, is not a part of the first key.
func TestByteOrderMark(t *testing.T) {
	if _, err := config.Parse("config", []byte("\ufeffnode: a\n")); err != nil {
		t.Error(err)
	}
}

// A copy's listeners are its own: what is lowered in it stays in the config that was read.
// full.yaml has every kind.
func TestOwnListeners(t *testing.T) {
	c, err := config.Load("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds, own := map[string]bool{}, c.OwnListeners().Listeners()
	for i, l := range c.Listeners() {
		kind, _, _ := strings.Cut(l.Key, "[")
		kinds[kind] = true
		if l.Connections != nil && l.Connections == own[i].Connections {
			t.Errorf("%s: the copy's connections are the config's", l.Key)
		}
	}
	if len(kinds) != 6 {
		t.Errorf("full.yaml has listeners of %v", kinds)
	}
}
