package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The metrics say what forward auth and logs decided, by rule, and how long
// forward auth took.
func TestFigures(t *testing.T) {
	folder := shortDir(t)
	u := newNode(t, folder, small).start()
	auth := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(folder, "auth.sock"))
	}}}
	defer auth.CloseIdleConnections()
	desk := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(folder, "admin.sock"))
	}}}
	defer desk.CloseIdleConnections()
	get := func(c *http.Client, path, addr string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Real-IP", addr)
		answer, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const asked = 10 + 2*timeEvery
	for range asked {
		get(auth, "/auth/nginx", "203.0.113.9")
	}
	writeLog(t, filepath.Join(folder, "access.log"), "203.0.113.20", 12)
	u.eventually("the log is read", func() bool { return u.blocked("203.0.113.20") })
	metrics := get(desk, "/metrics", "")
	source := `protocol="forward-auth",rule="%s",source="auth unix:` + folder + `/auth.sock"`
	for _, want := range []string{
		`edgeguard_decisions_total{action="pass",` + fmt.Sprintf(source, "") + `} 10`,
		`edgeguard_decisions_total{action="deny",` + fmt.Sprintf(source, "small") + `} 32`,
		`edgeguard_decisions_total{action="deny",protocol="log",rule="small",source="log ` + folder + `/access.log"} 2`,
		`edgeguard_decision_duration_seconds_count{protocol="forward-auth",source="auth unix:` + folder + `/auth.sock"} 2`,
		`edgeguard_rule_crossings_total{action="block",rule="small"} 2`,
		`edgeguard_log_lost_bytes_total{source="` + folder + `/access.log"} 0`,
		`edgeguard_snapshots_total{result="ok"} `,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(regexp.MustCompile(`(?m)^edgeguard_(dec|rule|log|snap).*$`).FindAllString(metrics, -1), "\n"))
		}
	}
	if strings.Contains(metrics, "203.0.113.") {
		t.Error("an address is a label")
	}
}

// What a log lost is reported. So is a file that was emptied in place, since it
// may have lost lines unseen.
func TestLossIsReported(t *testing.T) {
	folder := shortDir(t)
	file := filepath.Join(folder, "access.log")
	writeLog(t, file, "203.0.113.8", 1)
	u := newNode(t, folder, small).start()
	writeLog(t, file, "203.0.113.9", 5)
	u.eventually("the lines are read", func() bool { return u.count("203.0.113.9") == 5 })
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	u.eventually("the emptying is reported", func() bool { return strings.Contains(u.log.String(), "it was emptied in place") })
	writeLog(t, file, "203.0.113.9", 1)
	u.eventually("it goes on", func() bool { return u.count("203.0.113.9") == 6 })
}
