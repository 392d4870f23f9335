package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"edgeguard/config"
)

const packaging = "../packaging"

// The packaged config begins in mode monitor, and is right as it is.
func TestPackagedConfig(t *testing.T) {
	c, err := config.Load(filepath.Join(packaging, "edgeguard.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Monitor || len(c.Rules.Rules) < 5 {
		t.Errorf("monitor %v, rules %v", c.Monitor, c.Specs)
	}
	for _, w := range c.Warnings { // until a log is followed
		if !strings.Contains(w.Text, "no configured sensor reports response events") {
			t.Errorf("warning %v", w)
		}
	}
	// What stands in comments must be right when somebody takes it.
	text := regexp.MustCompile(`(?m)^#(rules|sensors|enforce|  accesslog|  files|    -|  -)`).ReplaceAllString(read(t, packaging, "edgeguard.yaml"), "$1")
	text = strings.Replace(text, "emit: request", "emit: nothing", 1)
	c, err = config.Parse("uncommented", []byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if len(c.Sensors.AccessLog) != 1 || len(c.Enforce.Files) != 1 || len(c.Warnings) > 0 {
		t.Errorf("%+v %+v %v", c.Sensors, c.Enforce, c.Warnings)
	}
}

// unitFolder holds the unit as systemd-analyze can look at it: with a program
// that is there.
func unitFolder(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: scripts/need systemd-analyze:systemd")
	}
	dir := t.TempDir()
	for _, name := range []string{"edgeguard.service", "edgeguard.socket"} {
		text := strings.ReplaceAll(read(t, packaging, name), "/usr/bin/edgeguard", "/bin/true")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUnitVerifies(t *testing.T) {
	dir := unitFolder(t)
	for _, name := range []string{"edgeguard.service", "edgeguard.socket"} {
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", filepath.Join(dir, name)).CombinedOutput()
		if err != nil || strings.Contains(string(out), "edgeguard") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestUnitIsTight(t *testing.T) {
	unit := filepath.Join(unitFolder(t), "edgeguard.service")
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", unit).CombinedOutput()
	exposure := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
	if exposure == nil {
		t.Fatalf("%v: %s", err, out)
	}
	if level, err := strconv.ParseFloat(string(exposure[1]), 64); err != nil || level > 2.5 {
		t.Errorf("exposure %s, want 2.5 at most:\n%s", exposure[1], out)
	}
}
