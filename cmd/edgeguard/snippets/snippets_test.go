package snippets

import (
	"bytes"
	"cmp"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	gocmp "github.com/google/go-cmp/cmp"

	"edgeguard/rules"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	for _, golden := range []string{"caddy", "envoy", "envoy-grpc", "envoy-rls", "haproxy", "haproxy-peers", "haproxy-peers-count", "haproxy-spoe", "nginx", "nginx-cache", "traefik"} {
		var v Values
		name, ofCount := strings.CutSuffix(golden, "-count")
		if v.PeersCount = ofCount; golden == "nginx-cache" {
			name, v.Cache = "nginx", "/var/cache/nginx/edgeguard"
		}
		got, err := Text(name, "proxy", v)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", golden+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", golden, diff)
		}
	}
}

// Envoy asks at the address and by the rule of the config, over a unix socket or TCP.
func TestEnvoy(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: `a:"b"`, Threshold: 2000}})
	if problems != nil {
		t.Fatal(problems)
	}
	for _, name := range []string{"envoy-grpc", "envoy-rls"} {
		for _, v := range []Values{{}, {Envoy: "[::1]:9182", Closed: true, Rules: set}} {
			got, err := Text(name, "", v)
			if err != nil {
				t.Fatal(err)
			}
			var tree map[string]any
			if err := yaml.Unmarshal([]byte(got), &tree); err != nil || len(tree) != 1 {
				t.Errorf("%s: %v, %v\n%s", name, tree, err, got)
			}
			at, fails := `pipe: {path: "/run/edgeguard/envoy.sock"}`, map[string]string{"envoy-grpc": "failure_mode_allow: true", "envoy-rls": "failure_mode_deny: false"}[name]
			if v.Closed {
				at, fails = `address: "::1", port_value: 9182`, map[string]string{"envoy-grpc": "failure_mode_allow: false", "envoy-rls": "failure_mode_deny: true"}[name]
			}
			if !strings.Contains(got, at) || !strings.Contains(got, fails) || !strings.Contains(got, "timeout: 0.1s") || !strings.Contains(got, "http2_protocol_options") {
				t.Errorf("%s lacks %s or %s:\n%s", name, at, fails, got)
			}
			if name == "envoy-rls" && v.Rules != nil && !strings.Contains(got, `descriptor_value: "a:\"b\""`) {
				t.Errorf("the rule is not quoted:\n%s", got)
			}
		}
	}
}

func TestYAML(t *testing.T) {
	for _, name := range []string{"traefik", "envoy"} {
		for _, closed := range []bool{false, true} {
			var got bytes.Buffer
			if err := Write(&got, name, Values{Closed: closed, Auth: "[::1]:9180"}); err != nil {
				t.Fatal(err)
			}
			var tree map[string]any
			if err := yaml.Unmarshal(got.Bytes(), &tree); err != nil || len(tree) != 1 {
				t.Errorf("%s: %v, %v", name, tree, err)
			}
			if name == "envoy" && (!strings.Contains(got.String(), `address: "::1", port_value: 9180`) || strings.Contains(got.String(), "failure_mode_allow: true") == closed) {
				t.Errorf("closed %v: %s", closed, &got)
			}
		}
	}
}

// TestHAProxyAccepts lets haproxy check its snippets, with the files that they name moved
// to where the test may write, behind the directives of Debian's haproxy.cfg that matter.
// $EDGEGUARD_HAPROXY is another version than the one that is installed.
func TestHAProxyAccepts(t *testing.T) {
	haproxy, err := exec.LookPath(cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy"))
	if err != nil {
		t.Skip("haproxy is not installed: apt-get install haproxy")
	}
	set, problems := rules.Compile([]rules.Spec{
		{Name: "site", Threshold: 2000}, {Name: "agent", Threshold: 1, When: `agent == ""`},
		{Name: "login", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Host: []string{"*.example.org"}, Path: []string{"/login", "*/it's\\ \"here\""}, Status: []string{"4xx"}}},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	for name, v := range map[string]Values{
		"haproxy":       {},
		"haproxy-peers": {Rules: set, PeersCount: true}, "haproxy-peers ": {PeersCount: true}, "haproxy-peers  ": {Peers: "192.0.2.1:10000", Log: "tcp:192.0.2.1:514"},
		"haproxy-peers   ": {}, "haproxy-peers    ": {Log: "unixgram:/var/lib/haproxy/edgeguard/log.sock"}, "haproxy-peers     ": {Unlogged: true}, "haproxy-peers      ": {Log: "/var/log/haproxy.log"},
	} {
		v.Listen = "0"
		var conf bytes.Buffer
		if err := Write(&conf, strings.TrimSpace(name), v); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		acl, cfg := filepath.Join(dir, "acl"), filepath.Join(dir, "cfg")
		text := "global\n    log /dev/log local0\n    user haproxy\n    group haproxy\n    chroot /var/lib/haproxy\ndefaults\n    log global\n    mode http\n    option httplog\n    timeout connect 1s\n    timeout client 1s\n    timeout server 1s\n"
		text += strings.ReplaceAll(conf.String(), "/var/lib/edgeguard/haproxy.acl", acl)
		text = strings.ReplaceAll(text, "bind :0", "bind 127.0.0.1:8089") // -c binds nothing, but wants a port
		text = strings.ReplaceAll(text, "ssl verify required ca-file /etc/haproxy/edgeguard-ca.pem crt /etc/haproxy/edgeguard.pem", "ssl verify none")
		for file, content := range map[string]string{acl: "", cfg: text} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command(haproxy, "-c", "-f", cfg).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("WARNING")) {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, text)
		}
	}
}

// What HAProxy cannot count is named in its config.
func TestPeersNameWhatIsLeft(t *testing.T) {
	set, _ := rules.Compile([]rules.Spec{{Name: "agent", Threshold: 1, When: `agent == ""`}})
	got, err := Text("haproxy-peers", "proxy", Values{Rules: set, PeersCount: true})
	if err != nil || !strings.Contains(got, "# The rule agent is not counted here: its when:") || strings.Contains(got, "table counts_") || strings.Contains(got, "track-sc") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, want := range map[string]string{"iis": "traefik", "ngnix": "did you mean nginx?"} {
		if err := Write(new(bytes.Buffer), name, Values{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Write(%s) = %v", name, err)
		}
	}
}

// What is printed as a whole is the first part; every other line is a comment.
func TestWriteIsTheFirstPart(t *testing.T) {
	for _, name := range Names() {
		var b bytes.Buffer
		if err := Write(&b, name, Values{}); err != nil {
			t.Fatal(err)
		}
		parts, err := Parts(name, Values{})
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(b.String(), parts[0].Text)
		for line := range strings.Lines(rest) {
			ok = ok && (line == "\n" || strings.HasPrefix(line, "#"))
		}
		for _, p := range parts[1:] {
			ok = ok && strings.Contains(rest, "edgeguard snippets "+name+" --file "+p.Name+")")
		}
		if !ok || About(name) == "" {
			t.Errorf("%s: %s", name, &b)
		}
	}
}
