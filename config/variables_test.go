package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard/config"
)

// whole names a variable in every field that takes one.
const whole = `
state: ${EG_ROOT}/state
listen:
  auth: [{address: "127.0.0.1:${EG_PORT}", trust: ["${EG_PROXY}", 192.0.2.1]}, {address: "unix:${EG_ROOT}/a.sock", trust: []}]
  admin:
    - {address: "127.0.0.1:${EG_ADMIN:-9190}", token_file: "${EG_ROOT}/t", reader_token_file: "${EG_ROOT}/r", proxy_auth: {from: ["${EG_PROXY}"], secret_file: "${EG_ROOT}/s"}}
trusted_proxies: ["${EG_PROXY}", 10.1.0.0/16]
allowlist: ${EG_PROXY}
protected: ["198.51.100.0/${EG_BITS}"]
sensors: {accesslog: [{file: "${EG_ROOT}/a.log"}, {listen: "unixgram:${EG_ROOT}/l.sock"}]}
enforce:
  files: {file: "${EG_ROOT}/list", format: plain}
  haproxy: {socket: "${EG_ROOT}/h.sock", acl: /a}
crawlers: {name: bot, ranges: ["${EG_ROOT}/bot.json", /b.json]}
fleet: {redis: "rediss://u@${EG_HOST}:6379", password_file: "${EG_ROOT}/p", loader_file: "${EG_ROOT}/o", key_file: "${EG_ROOT}/k",
  tls: {ca_file: "${EG_ROOT}/ca", cert_file: "${EG_ROOT}/c", key_file: "${EG_ROOT}/ck"}}
`

// values are those of its variables.
var values = map[string]string{"EG_ROOT": "/srv/eg", "EG_PORT": "9280", "EG_PROXY": "10.9.0.0/24", "EG_BITS": "29", "EG_HOST": "redis.internal"}

func setValues(t *testing.T) {
	t.Helper()
	for name, value := range values {
		t.Setenv(name, value)
	}
}

// TestVariables: a config with variables means the same as one in which their values
// are written.
func TestVariables(t *testing.T) {
	setValues(t)
	got, err := config.Parse("f", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(whole, "${EG_ADMIN:-9190}", "9190")
	for name, value := range values {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	want, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	readBack(t, got)
	if n := strings.Count(whole, "${"); len(got.Variables) != n || len(want.Variables) != 0 {
		t.Errorf("%d variables are known, the file has %d: %v", len(got.Variables), n, got.Variables)
	}
	got.Variables = want.Variables
	if diff := cmp.Diff(want.YAML(), got.YAML()); diff != "" {
		t.Error(diff)
	}
}

// TestVariablesArePrinted: the effective config names the variables and has none of
// their values.
func TestVariablesArePrinted(t *testing.T) {
	setValues(t)
	c, err := config.Parse("f", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	printed := c.YAML()
	for name, value := range values {
		if strings.Count(printed, "${"+name+"}") != strings.Count(whole, "${"+name+"}") {
			t.Errorf("%s is lost or added:\n%s", name, printed)
		}
		if len(value) > 3 && strings.Contains(printed, value) {
			t.Errorf("the value of %s is printed:\n%s", name, printed)
		}
	}
}

// TestVariablesOfTheTrustedProxies: a listener that takes over the list takes over
// what it is written as.
func TestVariablesOfTheTrustedProxies(t *testing.T) {
	setValues(t)
	for _, list := range []string{`"${EG_PROXY}"`, `["${EG_PROXY}"]`, `[192.0.2.1, "${EG_PROXY}"]`} {
		c, err := config.Parse("f", []byte("trusted_proxies: "+list+"\nlisten: {auth: ['127.0.0.1:1', 'unix:${EG_ROOT}/x']}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if printed := c.YAML(); strings.Count(printed, "${EG_PROXY}") != 3 || strings.Contains(printed, "10.9.0.0") || !strings.Contains(printed, "unix:${EG_ROOT}/x") {
			t.Errorf("%s:\n%s", list, printed)
		}
		readBack(t, c)
	}
}

// TestVariablesOfSenders: who may send to a log's socket is printed as the file has it.
func TestVariablesOfSenders(t *testing.T) {
	setValues(t)
	c, err := config.Parse("f", []byte(`sensors: {accesslog: {listen: "udp:192.0.2.1:514", from: ["${EG_PROXY}"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if printed := c.YAML(); !strings.Contains(printed, `from: ["${EG_PROXY}"]`) {
		t.Error(printed)
	}
	readBack(t, c)
}

// TestVariablesStayText: where a variable is not expanded, a dollar is a dollar.
func TestVariablesStayText(t *testing.T) {
	t.Setenv("host", "no")
	c, err := config.Parse("f", []byte(`
sensors: {accesslog: {file: /a, format: '$remote_addr - ${host} [$time_local] "$request" $status'}}
enforce: {files: {file: "/b/$${host}", format: nginx, reload: [sh, "${host}"]}}
rules:
  - {name: a, threshold: 5, match: {path: "/${host}"}, when: 'path contains "${host}"'}
`))
	if err != nil {
		t.Fatal(err)
	}
	if log := c.Sensors.AccessLog[0]; !strings.Contains(log.Format, "${host}") {
		t.Errorf("format %s", log.Format)
	}
	if file := c.Enforce.Files[0]; file.File != "/b/${host}" || file.Reload[1] != "${host}" {
		t.Errorf("%+v", file)
	}
	if spec := c.Specs[0]; spec.When != `path contains "${host}"` || spec.Match.Path[0] != "/${host}" {
		t.Errorf("%+v", spec)
	}
	readBack(t, c)
}

// TestVariablesRefused: each mistake is reported with its line, its key and the
// variable, and never with a value.
func TestVariablesRefused(t *testing.T) {
	t.Setenv("EG_SECRET", "hunter2")
	t.Setenv("EG_EMPTY", "")
	t.Setenv("EG_LINES", "/a\nmode: monitor")
	t.Setenv("EG_URL", "redis://:hunter2@a")
	for _, c := range []struct{ text, place, says string }{
		{"mode: monitor\nstate: ${EG_NONE}/x\n", "2:8", "state: the variable EG_NONE is not set; set it"},
		{"listen: {admin: [{address: '127.0.0.1:1', token_file: '${EG_NONE}'}]}\n", "1:55", "listen.admin[0].token_file: the variable EG_NONE"},
		{"state: ${EG_EMPTY}\n", "1:8", `"${EG_EMPTY}" is empty`},
		{"state: ${EG_LINES}\n", "1:8", "EG_LINES has a line break"},
		{"state: ${EG_SECRET}\n", "1:8", "not an absolute path"},
		{"state: ${EG-SECRET}\n", "1:8", "not the name of a variable"},
		{"state: /a${\n", "1:8", "without }"},
		{"listen: {auth: ['${EG_SECRET}']}\n", "1:17", `cannot listen at "${EG_SECRET}"`},
		{"allowlist: ['${EG_SECRET}']\n", "1:13", `"${EG_SECRET}" expands to an invalid prefix`},
		{"fleet: {redis: '${EG_SECRET}'}\n", "1:16", "not a Redis address"},
		{"fleet: {redis: '${EG_URL}'}\n", "1:16", "contains a password"},
		{"node: ${EG_SECRET}\n", "1:7", `node: "${EG_SECRET}" is not expanded here; write the value out`},
		{"mode: ${EG_SECRET}\n", "1:7", "not expanded here"},
		{"memory: ${EG_SECRET}\n", "1:9", "not expanded here"},
		{"rules: [{name: '${EG_SECRET}', threshold: 5}]\n", "1:16", "not expanded here"},
		{"rules: [{name: a, threshold: 5, window: '${EG_SECRET}'}]\n", "1:41", "not expanded here"},
		{"rules: [{name: a, threshold: '${EG_SECRET}'}]\n", "1:30", "not expanded here"},
		{"roll_up: ${EG_SECRET}\n", "1:10", "not expanded here"},
		{"presets: ['${EG_SECRET}']\n", "1:11", "not expanded here"},
		{"${EG_SECRET}: 5\n", "1:1", "unknown field"},
	} {
		_, err := config.Parse("f", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), "f:"+c.place+": ") || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want it at %s, saying %s", c.text, err, c.place, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the message has the value: %v", c.text, err)
		}
	}
}

// FuzzVariable holds that a variable is never more than a part of one text: a config
// is the same but for the field that names it, whatever its value is.
func FuzzVariable(f *testing.F) {
	for _, seed := range []string{"", "/a", "/a\nmode: monitor", "/a, mode: monitor}", "/a\", mode: monitor #", "${EG_FUZZ}", "/*x", "!!map {}", "/'", "/\u2028node: b", "/a: b", "/${", "/$${a}"} {
		f.Add(seed)
	}
	const text = "node: n\nstate: ${EG_FUZZ}\nallowlist: [192.0.2.1]\n"
	want, err := config.Parse("f", []byte(strings.Replace(text, "${EG_FUZZ}", "/state", 1)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if os.Setenv("EG_FUZZ", value) != nil {
			t.Skip("the environment does not have such a value")
		}
		defer os.Unsetenv("EG_FUZZ")
		got, err := config.Parse("f", []byte(text))
		if err != nil {
			if all := err.(*config.Errors).Problems; len(all) != 1 || all[0].Path != "state" {
				t.Fatalf("%q: %v", value, err)
			}
			return
		}
		if got.State != value {
			t.Errorf("%q became %q", value, got.State)
		}
		readBack(t, got)
		got.State, got.Variables = want.State, want.Variables
		if diff := cmp.Diff(want.YAML(), got.YAML()); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
		// Written out instead of named, it reads back to the same too.
		got.State = value
		if back, err := config.Parse("f", []byte(got.YAML())); err != nil || back.State != value {
			t.Errorf("%q, printed: %v\n%s", value, err, got.YAML())
		}
	})
}
