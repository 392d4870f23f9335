// Package lapitest runs the CrowdSec of Debian for tests: its LAPI alone, on loopback.
// It is unpacked, never installed, with a database of its own, without its agent.
package lapitest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// The key of a bouncer, and the name and password of a machine, that each server knows.
const (
	Key      = "a-key-of-a-bouncer-0123456789"
	Machine  = "edgeguard-test"
	Password = "a-password-0123456789"
)

const (
	fetchFor = 2 * time.Minute
	startFor = time.Minute
)

// Server is one LAPI.
type Server struct {
	URL    string
	t      testing.TB
	folder string
	bin    string
	cmd    *exec.Cmd
	ended  chan struct{}
}

// Start runs a LAPI until the test ends. It skips the test where Debian's package cannot be had.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: unpacked(t), folder: t.TempDir(), URL: "http://" + program.Address(t)}
	s.write("config.yaml", fmt.Sprintf(config, s.folder, strings.TrimPrefix(s.URL, "http://")))
	s.write("profiles.yaml", "name: none\nfilters: [\"false\"]\non_success: break\n")
	s.write("simulation.yaml", "simulation: false\n")
	s.write("index.json", "{}")
	s.Cscli("machines", "add", Machine, "--password", Password, "-f", filepath.Join(s.folder, "credentials.yaml"))
	s.Cscli("bouncers", "add", "edgeguard", "-k", Key)
	t.Cleanup(func() {
		if s.cmd != nil {
			s.Stop()
		}
	})
	s.Launch()
	return s
}

// config is the smallest that its LAPI starts with.
const config = `common: {daemonize: false, log_media: stdout, log_level: info, working_dir: %[1]s}
config_paths: {config_dir: %[1]s, data_dir: %[1]s, simulation_path: %[1]s/simulation.yaml, hub_dir: %[1]s, index_path: %[1]s/index.json, notification_dir: %[1]s/notifications, plugin_dir: %[1]s/plugins}
cscli: {output: json}
db_config: {type: sqlite, db_path: %[1]s/crowdsec.db, use_wal: true}
api:
  client: {insecure_skip_verify: false, credentials_path: %[1]s/credentials.yaml}
  server: {log_level: info, listen_uri: %[2]s, profiles_path: %[1]s/profiles.yaml, console_path: %[1]s/console.yaml, use_forwarded_for_headers: false}
prometheus: {enabled: false}
`

func (s *Server) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Launch starts the LAPI again after Stop.
func (s *Server) Launch() {
	s.t.Helper()
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.Command(filepath.Join(s.bin, "crowdsec"), "-c", filepath.Join(s.folder, "config.yaml"), "-no-cs")
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.SysProcAttr = log, log, dieWithParent()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(s.cmd, s.ended)
	for deadline := time.Now().Add(startFor); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get(s.URL + "/health")
		if err == nil {
			_ = answer.Body.Close()
			http.DefaultClient.CloseIdleConnections()
			return
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			s.t.Fatalf("the LAPI does not start: %v\n%s", err, text)
		}
	}
}

// Stop ends the LAPI; its database stays.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

// Cscli runs CrowdSec's command, and returns what it prints.
func (s *Server) Cscli(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, "cscli"), append([]string{"-c", filepath.Join(s.folder, "config.yaml")}, args...)...)
	cmd.SysProcAttr = dieWithParent()
	text, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("cscli %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return string(text)
}

// unpacked returns the folder of the programs, which is kept in the user's cache.
func unpacked(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no folder to keep CrowdSec in: %v", err)
	}
	folder := filepath.Join(cache, "edgeguard-crowdsec")
	bin := filepath.Join(folder, "crowdsec", "usr", "bin")
	if _, err := os.Stat(filepath.Join(bin, "cscli")); err == nil {
		return bin
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Skipf("no folder to keep CrowdSec in: %v", err)
	}
	draft, err := os.MkdirTemp(folder, "draft")
	if err != nil {
		t.Skipf("no folder to keep CrowdSec in: %v", err)
	}
	defer func() { _ = os.RemoveAll(draft) }()
	ctx, cancel := context.WithTimeout(t.Context(), fetchFor)
	defer cancel()
	fetch := exec.CommandContext(ctx, "sh", "-c", "apt-get download crowdsec && dpkg-deb -x crowdsec_*.deb unpacked")
	fetch.Dir = draft
	if text, err := fetch.CombinedOutput(); err != nil {
		t.Skipf("Debian's package crowdsec cannot be had: %v\n%s", err, text)
	}
	// Another test may have been faster: its folder is as good.
	if err := os.Rename(filepath.Join(draft, "unpacked"), filepath.Join(folder, "crowdsec")); err != nil && !os.IsExist(err) {
		t.Logf("kept by another: %v", err)
	}
	if _, err := os.Stat(filepath.Join(bin, "cscli")); err != nil {
		t.Skipf("Debian's package crowdsec has no cscli: %v", err)
	}
	return bin
}
