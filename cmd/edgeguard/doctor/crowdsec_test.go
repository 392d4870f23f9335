package doctor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
)

// What doctor says of a LAPI; never what is in the file.
func TestCrowdSec(t *testing.T) {
	lapi := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && r.URL.Path == "/v1/decisions" && r.Header.Get("X-Api-Key") == "good" {
			return
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer lapi.Close()
	folder := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(folder, text)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, row := range []struct {
		key, url string
		severity severity
		says     string
	}{
		{file("good"), lapi.URL, fine, "answers and knows this node"},
		{file("secret"), lapi.URL, wrong, "it answers 403 Forbidden; write the key that `cscli bouncers add NAME` prints"},
		{filepath.Join(folder, "missing"), lapi.URL, wrong, "no such file"},
		{file("good"), "http://127.0.0.1:1", wrong, "http://127.0.0.1:1: it refuses the connection: nothing listens there"},
	} {
		x := &examination{}
		c := &config.Config{CrowdSec: config.CrowdSec{
			Decisions: &config.CrowdSecDecisions{LAPIServer: config.LAPIServer{URL: row.url}, KeyFile: row.key},
			Alerts:    &config.CrowdSecAlerts{LAPIServer: config.LAPIServer{URL: lapi.URL}, Machine: "m", PasswordFile: file("other")},
		}}
		x.crowdsec(t.Context(), c)
		if len(x.findings) != 2 || x.findings[0].Severity != row.severity || !strings.Contains(x.findings[0].Text, row.says) {
			t.Errorf("%+v, want %q", x.findings, row.says)
		} else if x.findings[1].Severity != wrong || !strings.Contains(x.findings[1].Text, "`cscli machines list`") {
			t.Errorf("%+v", x.findings[1])
		}
	}
	if texts := OpenSecrets(&config.Config{CrowdSec: config.CrowdSec{Decisions: &config.CrowdSecDecisions{KeyFile: file("good")}}}); len(texts) > 0 {
		t.Errorf("%q", texts)
	}
}
