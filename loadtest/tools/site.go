package tools

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

// patience bounds every wait for a program. Nothing is measured by it.
const patience = time.Minute

// site is an arm that runs: its web server, and what stands beside it, in a folder of
// its own.
type site struct {
	*arm
	rule             // what it limits
	edgeguard string // the program
	dir       string
	address   string // the web server's
	procs     []*process
	node      *client.Client // asks edgeguard; nil where the arm has none
	release   func()         // of the port
	asked     uint64         // requests since the start
}

// process is one of a site's programs.
type process struct {
	*program.Child
	name   string
	server bool // the web server
}

// rule is the limit that all programs have, each as far as it can say it.
type rule struct {
	limit  uint32
	window time.Duration // whole minutes
}

// startSite starts what an arm needs in dir and waits until it answers. What it returns
// is to be stopped, even with an error.
func startSite(ctx context.Context, a *arm, r rule, edgeguard, dir string) (*site, error) {
	s := &site{arm: a, rule: r, edgeguard: edgeguard, dir: dir, release: func() {}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return s, err
	}
	if err := os.WriteFile(s.path("x.txt"), []byte("hello\n"), 0o644); err != nil {
		return s, err
	}
	port, release, err := program.Claim()
	if err != nil {
		return s, err
	}
	s.release, s.address = release, fmt.Sprintf("127.0.0.1:%d", port)
	if err := a.start(ctx, s); err != nil {
		return s, err
	}
	return s, s.reachable(ctx)
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// write writes one of the site's files and returns its path.
func (s *site) write(name, text string) (path string, err error) {
	path = s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// programs are the packages of Debian that have what arms start.
var programs = map[string]string{"nginx": "nginx-light", "haproxy": "haproxy", "fail2ban-server": "fail2ban"}

// find returns the path of a program.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("/usr/sbin/" + name) // where a user's PATH does not lead
	if err != nil {
		return "", fmt.Errorf("%s is not installed: apt-get install %s", name, programs[name])
	}
	return path, nil
}

// serve starts the web server, beside a program that counts for it.
func (s *site) serve(name string, args ...string) error { return s.spawn(true, name, args...) }

// beside starts a program that counts.
func (s *site) beside(name string, args ...string) error { return s.spawn(false, name, args...) }

// spawn starts a program. What it says is in the folder.
func (s *site) spawn(server bool, name string, args ...string) (err error) {
	path := name
	if _, installed := programs[name]; installed {
		if path, err = find(name); err != nil {
			return err
		}
	}
	name = filepath.Base(name)
	child, err := program.StartChild(s.path(name+".out"), path, args...)
	if err == nil {
		s.procs = append(s.procs, &process{child, name, server})
	}
	return err
}

// stop ends the site's programs, the web server first, so that it asks nobody who has ended.
func (s *site) stop() {
	for _, p := range slices.Backward(s.procs) {
		p.Stop()
	}
	if s.node != nil {
		s.node.Close()
	}
	s.release()
}

// said returns the ends of what the site's programs have said.
func (s *site) said() string {
	var all strings.Builder
	for _, p := range s.procs {
		if said := p.Said(); said != "" {
			fmt.Fprintf(&all, "\n%s: %s", p.name, said)
		}
	}
	return strings.TrimRight(all.String(), "\n")
}

// reachable waits until the web server listens.
func (s *site) reachable(ctx context.Context) error {
	return s.until(ctx, "listens on "+s.address, func() bool {
		c, err := net.Dial("tcp", s.address)
		return err == nil && c.Close() == nil
	})
}

// until waits for what the site's programs will do.
func (s *site) until(ctx context.Context, what string, done func() bool) error {
	for began := time.Now(); !done(); {
		for _, p := range s.procs {
			select {
			case <-p.Ended():
				return fmt.Errorf("%s has ended%s", p.name, s.said())
			default:
			}
		}
		if time.Since(began) > patience {
			return fmt.Errorf("not within %v: it %s%s", patience, what, s.said())
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
