package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/program"
)

const servedConfig = `
node: test
listen: {auth: [], admin: ["unix:%[1]s/admin.sock"]}
state: %[1]s/state
rules: [{name: small, threshold: 10, guard: 1, window: 60s, block_for: 1h}]
sensors: {accesslog: [{file: %[1]s/access.log, format: combined}, {file: %[1]s/other.log, format: combined}]}
`

// servedSite has two servers with a log each; the last value is what the first one includes.
const servedSite = `
server { listen %[2]s; access_log %[1]s/access.log combined; %[5]s location / { proxy_pass http://%[4]s; } }
server { listen %[3]s; access_log %[1]s/other.log combined; location / { proxy_pass http://%[4]s; } }
`

// A node in mode enforce whose list no proxy reads says so, by what the log says of who is
// blocked, and says it no more once the proxy reads the list. The log of another server,
// to which no blocked address comes, is not named.
func TestServedBehindNginx(t *testing.T) {
	t.Parallel()
	s := emptySite(t)
	other, backend := program.Address(t), program.Address(t)
	for _, log := range []string{"access.log", "other.log"} {
		s.write(log, "")
		if err := os.Chmod(filepath.Join(s.dir, log), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s.write("site.conf", fmt.Sprintf(servedSite, s.dir, s.front, other, backend, ""))
	s.write("config.yaml", fmt.Sprintf(servedConfig, s.dir))
	s.startNginx(backend)
	s.start()
	status := func() (all admin.Stats) {
		t.Helper()
		code, body, err := getStatus("unix:"+s.dir+"/admin.sock", "/api/v1/status", nil)
		if err != nil || code != http.StatusOK {
			t.Fatal(code, err)
		}
		if err := json.Unmarshal([]byte(body), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	const attacker = "203.0.113.5"
	sends := func(what string, each int, until func(*admin.Stats) bool) admin.Stats {
		t.Helper()
		for deadline := time.Now().Add(2 * patience); ; {
			for range each {
				if _, _, err := s.get(attacker); err != nil {
					t.Fatal(err)
				}
			}
			now := status()
			if until(&now) {
				return now
			}
			if time.Now().After(deadline) {
				t.Fatalf("not seen: %s: %+v", what, now.Alarms())
			}
			time.Sleep(100 * time.Millisecond) // the pace of who sends, and of the questions
		}
	}
	served := func(now *admin.Stats) bool {
		return slices.ContainsFunc(now.Alarms(), func(a admin.Alarm) bool { return a.Kind == "blocked_served" })
	}
	now := sends("the attacker is served", 5, served)
	text := fmt.Sprint(now.Alarms())
	if !strings.Contains(text, "access.log: ") || !strings.Contains(text, "203.0.113.5's with status 200") || !strings.Contains(text, "edgeguard snippets") || strings.Contains(text, "other.log") {
		t.Error(text)
	}
	// The two are not read at one moment: who is denied between is served, and not yet counted.
	if later := status(); now.Events.Served == 0 || now.Events.Served > later.Events.Denied {
		t.Errorf("%+v, then %+v", now.Events, later.Events)
	}
	if code, body, err := getStatus("unix:"+s.dir+"/admin.sock", "/readyz", nil); err != nil || code != http.StatusOK || strings.Contains(body, attacker) {
		t.Errorf("readyz: %d, %s, %v", code, body, err)
	}
	out, err := edgeguardCommand("status", "--admin", "unix:"+s.dir+"/admin.sock").Output()
	if err == nil || !strings.Contains(string(out), "degraded") || !strings.Contains(string(out), "0 turned away and ") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = edgeguardCommand("doctor", "--config", filepath.Join(s.dir, "config.yaml")).Output()
	if err == nil || !strings.Contains(string(out), "were served") {
		t.Errorf("doctor: %v: %s", err, out)
	}
	s.write("config.yaml", fmt.Sprintf(servedConfig, s.dir)+fmt.Sprintf("enforce: {files: [{file: %s/deny.conf, format: nginx}]}\n", s.dir))
	if err := s.node.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.eventually("the list is written", func() bool {
		list, _ := os.ReadFile(filepath.Join(s.dir, "deny.conf"))
		return strings.Contains(string(list), attacker)
	})
	s.write("site.conf", fmt.Sprintf(servedSite, s.dir, s.front, other, backend, "include "+s.dir+"/deny.conf;"))
	s.reload()
	now = sends("the condition goes", 200, func(now *admin.Stats) bool { return !served(now) })
	if len(now.Logs) != 2 || now.Logs[0].TurnedAway <= now.Logs[0].Served {
		t.Errorf("%+v", now.Logs)
	}
	out, err = edgeguardCommand("blocks", "remove", attacker, "--admin", "unix:"+s.dir+"/admin.sock").CombinedOutput()
	for _, want := range []string{"is no longer blocked", "It may still be refused, for at most 20 s by " + s.dir + "/deny.conf.", "It still sends: at this pace rule small blocks it again in ", "edgeguard allow add " + attacker} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s: want %q", err, out, want)
		}
	}
	s.stop(syscall.SIGTERM)
}
