package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/safetext"
)

// hostileTexts are what a client writes into his path, host, agent and method.
var hostileTexts = []string{
	"/\x1b]0;title\x07\x1b[2J", "/\u202egnp.exe\u2066", "/\u009b31m\x7f", "/a\x00b", `/"'; - {rule: x}`, "/\u2028#: {a: b}", "/=HYPERLINK(x)", "/<script>x</script>",
}

// hostileLogs are logs of each format that brings a client's text as it is.
func hostileLogs() map[string][]string {
	logs := map[string][]string{}
	add := func(format, line string) { logs[format] = append(logs[format], line) }
	for i, text := range slices.Concat(hostileTexts, hostileTexts[:2], hostileTexts[:2], hostileTexts[7:], hostileTexts[7:]) { // the most frequent are shown
		raw := strings.NewReplacer("\x00", "", " ", "").Replace(text) // what no header and no target can hold
		quoted, _ := json.Marshal(text)
		in := string(quoted[1 : len(quoted)-1])
		at := fmt.Sprintf("00:00:%02d", i)
		add("alb", fmt.Sprintf(`https 2016-02-20T%sZ app/lb/1 192.0.2.1:80 10.0.0.1:80 0.0 0.0 0.0 404 404 1 1 "GET http://%s:80%s HTTP/1.1" "%s" - -`, at, raw[1:], raw, raw))
		add("squid", fmt.Sprintf(`%d.000     12 192.0.2.1 TCP_DENIED/403 411 GET http://%s%s - HIER_NONE/- text/html`, 1455926400+i, raw[1:], raw))
		add("envoy", fmt.Sprintf(`[2016-02-20T%sZ] "GET %s HTTP/1.1" 404 - 0 0 1 1 "192.0.2.1" "%s" "id" "%s" "10.0.0.1:80"`, at, raw, raw, strings.ReplaceAll(raw, `"`, "")))
		add("w3c", "#Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent) cs-uri-query x-host-header")
		add("w3c", fmt.Sprintf("2016-02-20\t%s\t192.0.2.1\tGET\t%s\t404\t%s\t%s\t%s", at, url.PathEscape(text), url.PathEscape(text), url.PathEscape(text), url.PathEscape(text)))
		add("waf", fmt.Sprintf(`{"timestamp":%d000,"responseCodeSent":404,"httpRequest":{"clientIp":"192.0.2.1","headers":[{"name":"Host","value":"%s"},{"name":"User-Agent","value":"%s"}],"uri":"%s","args":"%s","httpMethod":"GET"}}`, 1455926400+i, in, in, in, in))
		add("logpush", fmt.Sprintf(`{"ClientIP":"192.0.2.1","EdgeStartTimestamp":"2016-02-20T%sZ","EdgeResponseStatus":404,"ClientRequestHost":"%s","ClientRequestURI":"%s","ClientRequestUserAgent":"%s","ClientRequestMethod":"GET"}`, at, in, in, in))
		message, _ := json.Marshal(fmt.Sprintf("192.0.2.1 - - [20/Feb/2016:%s +0000] \"GET %s HTTP/1.1\" 404 5 \"-\" \"%s\"", at, strings.ReplaceAll(raw, `"`, `\x22`), strings.ReplaceAll(text, `"`, `\x22`)))
		add("docker", fmt.Sprintf(`{"log":%s,"stream":"stdout","time":"2016-02-20T%sZ"}`, strings.TrimSuffix(string(message), `"`)+`\n"`, at))
		add("journald", fmt.Sprintf(`{"MESSAGE":%s,"__REALTIME_TIMESTAMP":"%d000000"}`, message, 1455926400+i))
	}
	for format, lines := range logs {
		for _, text := range hostileTexts[:3] {
			lines = append(lines, lines[0][:len(lines[0])/3]+text) // skipped, and shown
		}
		logs[format] = lines
	}
	return logs
}

// TestHostileLogs holds that no report on a log sends a terminal what a client wrote
// for it, in any of the fields that a format brings.
func TestHostileLogs(t *testing.T) {
	folder := t.TempDir()
	config := filepath.Join(folder, "edgeguard.yaml")
	rules := "rules:\n"
	for _, with := range []string{"host", "path", "method"} {
		rules += fmt.Sprintf("  - {name: by-%s, key: {address: {v4: 32}, with: [%s]}, threshold: 1, action: deny}\n", with, with)
	}
	rules += "  - {name: all, threshold: 2}\n"
	if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	for format, lines := range hostileLogs() {
		t.Run(format, func(t *testing.T) {
			log := filepath.Join(folder, format+".log")
			if err := os.WriteFile(log, []byte(strings.Repeat(strings.Join(lines, "\n")+"\n", 3)), 0o600); err != nil {
				t.Fatal(err)
			}
			page := filepath.Join(folder, format+".html")
			for _, args := range [][]string{
				{"replay", "--sort", "--rows", "0"}, {"replay", "--sort", "--json"},
				{"tune"}, {"tune", "--json"}, {"tune", "--key", "192.0.2.1"}, {"tune", "--html", page},
			} {
				var out bytes.Buffer
				e := &command.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
				if code := run(t.Context(), e, append(args, "--config", config, log)); code != 0 || !strings.Contains(out.String(), "192.0.2.1") {
					t.Errorf("%v exits with %d:\n%s", args, code, &out)
				}
				if args[0] == "tune" && !strings.Contains(out.String(), "[2J") {
					t.Errorf("%v shows nothing that a client wrote:\n%s", args, &out)
				}
				if html, err := os.ReadFile(page); err == nil {
					out.Write(html)
					if bytes.Contains(html, []byte("<script")) || !bytes.Contains(html, []byte("&lt;script")) {
						t.Errorf("a client's script is in the page, or his text is not:\n%s", html)
					}
				}
				for _, line := range strings.Split(out.String(), "\n") {
					if !safetext.Clean(strings.TrimLeft(line, "\t")) { // the page's style is indented
						t.Errorf("%v prints %q", args, line)
					}
				}
			}
		})
	}
}
