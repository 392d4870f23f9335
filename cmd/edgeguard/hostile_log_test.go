package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/safetext"
	"edgeguard/logline/loglinetest"
)

// hostileTexts are what a client writes into his path, host, agent and method.
var hostileTexts = []string{
	"/\x1b]0;title\x07\x1b[2J", "/\u202egnp.exe\u2066", "/\u009b31m\x7f", "/a\x00b", `/"'; - {rule: x}`, "/\u2028#: {a: b}", "/=HYPERLINK(x)", "/<script>x</script>",
}

// hostileLogs are logs of each format, and of some in envelopes, whose clients send
// those texts.
func hostileLogs() map[string][]string {
	logs := map[string][]string{}
	for i, text := range slices.Concat(hostileTexts, hostileTexts[:2], hostileTexts[:2], hostileTexts[7:], hostileTexts[7:]) { // the most frequent are shown
		for _, e := range loglinetest.Examples {
			for line := range strings.Lines(e.Head) {
				logs[e.Name] = append(logs[e.Name], strings.TrimSpace(line))
			}
			logs[e.Name] = append(logs[e.Name], e.Hostile("192.0.2.1", i, func() string { return text[1:] }))
		}
		message := loglinetest.JSONEscaped(loglinetest.Of("combined").Hostile("192.0.2.1", i, func() string { return text[1:] }))
		logs["docker"] = append(logs["docker"], fmt.Sprintf(`{"log":"%s\n","stream":"stdout","time":"2016-02-20T00:00:%02dZ"}`, message, i))
		logs["journald"] = append(logs["journald"], fmt.Sprintf(`{"MESSAGE":"%s","__REALTIME_TIMESTAMP":"%d000000"}`, message, 1455926400+i))
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
				{"tune", "--rule", "by-host,by-path,by-method,all"}, {"tune", "--json"}, {"tune", "--key", "192.0.2.1"}, {"tune", "--rule", "by-path", "--html", page},
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
