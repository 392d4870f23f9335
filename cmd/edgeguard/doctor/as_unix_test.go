//go:build unix

package doctor

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A user who is neither root nor the node's is sent to root, and finds no fault.
func TestAsStranger(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	file, log := host(t)
	if err := os.Mkdir(filepath.Join(filepath.Dir(file), "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "doctor", "--json", "--config="+file)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	r := &report{}
	if err := json.Unmarshal(out, r); err != nil {
		t.Fatal(err, string(out), errs.String())
	}
	if err != nil || r.Wrong != 0 {
		t.Errorf("%v: %s", err, out)
	}
	for _, about := range []string{"listen.auth[0]", "listen.admin[0]", "state", "log " + log} {
		if f := r.of(about); f.Severity != doubt || f.Text != "not checked: this user may not, and edgeguard.service runs the node as nobody; run edgeguard doctor as root" {
			t.Errorf("%+v", f)
		}
	}
}
