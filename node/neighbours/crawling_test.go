package neighbours

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/crawlers"
	"edgeguard/crawlers/lookup"
	"edgeguard/node/alarm"
)

// A range file that cannot be used is an alarm by the crawler's name, until it can.
func TestAlarms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "g.json")
	c, err := crawlers.New([]crawlers.Spec{{Name: "googlebot", Agents: []string{"Googlebot"}, Ranges: []string{file}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	var raised, recovered []string
	alarms := alarm.New(func(a edgeguard.Alarm) { raised = append(raised, a.Kind+": "+a.Text) }, func(_, about string) { recovered = append(recovered, about) })
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &Crawling{crawlers: c, alarms: alarms, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	files := lookup.NewFiles(c)
	failing := s.read(files, nil)
	if len(raised) != 1 || !strings.HasPrefix(raised[0], "crawlers: the range files of crawler googlebot: ") || len(alarms.Lasting()) != 1 {
		t.Errorf("alarms %q", raised)
	}
	if err := os.WriteFile(file, []byte(`{"prefixes":[{"ipv4Prefix":"192.0.2.0/28"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if failing = s.read(files, failing); len(failing) > 0 || len(alarms.Lasting()) > 0 || len(recovered) != 1 {
		t.Errorf("it can be read: %v, lasting %v, recovered %q", failing, alarms.Lasting(), recovered)
	}
	var stats admin.Stats
	if s.Report(&stats); stats.Crawlers == nil {
		t.Error("no figures")
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := s.Run(ctx, func() {}); err != nil {
		t.Error(err)
	}
}
