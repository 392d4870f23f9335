//go:build unix

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"edgeguard/internal/safetext"
)

const (
	// childFor is how long the examination as another user may take.
	childFor = 30 * time.Second
	// mostReport bounds what is read of it: it runs with fewer rights than its reader.
	mostReport = 1 << 20
)

// asUnit runs this program again, with the unit's user and groups. A thread that
// changed its user itself would leave the others with root's rights.
func asUnit(ctx context.Context, u *Unit, configFile string) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, childFor)
	defer cancel()
	args := []string{"doctor", "--json"}
	if configFile != "" {
		args = append(args, "--config="+configFile)
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, "/proc/self/exe", args...)
	c.Env = append(os.Environ(), "HOME=/", "LC_ALL=C")
	// A session without root's terminal: a program of that user's may stop this one, and
	// type into the terminal that it has.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.GIDs}}
	c.Stdout, c.Stderr = &limited{w: &out, left: mostReport}, &limited{w: &errs, left: 4096}
	c.WaitDelay = time.Second
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	r := &report{}
	if json.Unmarshal(out.Bytes(), r) != nil {
		return nil, childError(strings.TrimPrefix(strings.TrimSpace(safetext.Strip(errs.String())), "edgeguard: "))
	}
	return newReport(r.As, r.Findings), nil
}

// limited writes the first bytes and passes over the rest.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(l.left, len(p))
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
