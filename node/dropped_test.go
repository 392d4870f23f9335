package node

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/program"
)

// A real HAProxy says how many lines it could not send: at most so many of this log's are
// lost. Here they are another log server's, that does not read.
func TestLinesThatHAProxyDropped(t *testing.T) {
	t.Parallel()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("no haproxy: it is asked for real")
	}
	dir := shortDir(t)
	u := newNode(t, dir, `
sensors: {accesslog: [{listen: "unixgram:$DIR/log", format: haproxy}]}
enforce: {haproxy: {socket: $DIR/stats, acl: $DIR/list}}
rules: [{name: all, threshold: 1000}]
`).start()
	if err := os.WriteFile(filepath.Join(dir, "list"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deaf, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "deaf"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deaf.Close() })
	address, config := program.Address(t), filepath.Join(dir, "haproxy.cfg")
	err = os.WriteFile(config, []byte(fmt.Sprintf(`global
	stats socket %[1]s/stats mode 600 level admin
	log unix@%[1]s/log local0
	log unix@%[1]s/deaf local0
defaults
	mode http
	log global
	option httplog
	timeout client 5s
	timeout server 5s
	timeout connect 5s
frontend f
	bind %[2]s
	http-request deny deny_status 403 if { src -f %[1]s/list }
	http-request return status 200
`, dir, address)), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	proxy := exec.Command(haproxy, "-db", "-f", config)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })
	ask := func() bool {
		answer, err := http.Get("http://" + address)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	}
	u.eventually("HAProxy answers", ask)
	u.eventually("its drops are seen", func() bool {
		log := u.view().Stats().Logs[0]
		return ask() && log.Parsed > 0 && log.Dropped > 0 && log.Lost == 0
	})
	u.eventually("it is an alarm", func() bool { return strings.Contains(u.log.String(), "DroppedLogs of show info") })
	if log := u.view().Stats().Logs[0]; log.Dropped > log.Parsed+100 {
		t.Errorf("%d dropped, %d arrived", log.Dropped, log.Parsed)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A log of HAProxy without the headers that a rule asks for is an alarm, and one that no rule asks
// more of is none.
func TestHAProxyLogWithoutHeaders(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	u := newNode(t, dir, `
sensors: {accesslog: [{listen: "unix:$DIR/log", format: haproxy}, {listen: "unix:$DIR/other", format: haproxy, emit: [response]}]}
rules: [{name: all, threshold: 1000}, {name: agents, threshold: 1000, when: 'agent == ""'}]
`).start()
	line := `203.0.113.7:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 {h||a} "GET / HTTP/1.1"` + "\n"
	for _, log := range []string{"other", "log"} {
		var c net.Conn
		u.eventually("the node listens", func() bool {
			var err error
			c, err = net.Dial("unix", filepath.Join(dir, log))
			return err == nil
		})
		if _, err := c.Write([]byte(strings.Repeat(line, 200))); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	u.eventually("all lines are read", func() bool {
		logs := u.view().Stats().Logs
		return logs[0].Parsed == 200 && logs[1].Parsed == 200
	})
	u.eventually("it is an alarm", func() bool {
		return strings.Contains(u.log.String(), "/log: no line of it has agent, and rules that ask for that count nothing of it")
	})
	if strings.Contains(u.log.String(), "/other: no line of it") {
		t.Error(u.log.String())
	}
}
