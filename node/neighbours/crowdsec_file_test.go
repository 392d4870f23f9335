package neighbours

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/clockguard"
)

// A file that is broken is renamed once, and the log says to what.
func TestBrokenDecisions(t *testing.T) {
	path := filepath.Join(t.TempDir(), fileName)
	if err := os.WriteFile(path, []byte("no snapshot"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	deps := CrowdSecDeps{Clock: clockguard.New(clockguard.Read(), clockguard.Config{}), Log: slog.New(slog.NewTextHandler(&log, nil))}
	(&decisionsFile{deps: deps, path: path}).load()
	if said := log.String(); !strings.Contains(said, "it is renamed to "+path+".aside-1") || strings.Contains(said, "could not be renamed") {
		t.Error(said)
	}
}

// What could not be written is written when that can be, without a new change.
func TestSaveAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	clock := clockguard.New(clockguard.Read(), clockguard.Config{Align: time.Second})
	deps := CrowdSecDeps{Clock: clock, Log: slog.New(slog.DiscardHandler), Node: "n1", Set: imported.New(imported.Config{Own: blocklist.New(blocklist.Config{})})}
	now := clock.Now()
	deps.Set.Replace(crowdSecSource, []imported.Entry{{Prefix: netip.MustParsePrefix("5.6.7.8/32"), Until: now.Add(time.Hour)}}, now)
	f := &decisionsFile{deps: deps, path: filepath.Join(folder, fileName), changed: true}
	f.save()
	if _, err := os.Stat(f.path); err == nil {
		t.Fatal("it was written into a folder that is not there")
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	f.save()
	if _, err := os.Stat(f.path); err != nil {
		t.Error(err)
	}
	if f.changed {
		t.Error("it would be written again, unchanged")
	}
}
