package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// site is one arm's proxy with what stands beside it.
type site struct {
	arm
	address string // nginx's
	procs   []*exec.Cmd
	stdins  []io.Closer
	node    *client.Client // asks the node; nil where the arm has none
	asked   uint64         // requests since the start
	cache   string         // folder of the passes; empty where the arm keeps none

	// One of each a round.
	micros []float64 // CPU of all procs a request
	beside []float64 // of that, what nginx did not use
	rates  []float64 // requests a second
}

// startSite starts what an arm needs in a folder of its own and waits until it
// answers. What it gives is to be stopped, even with an error.
func (b *bench) startSite(ctx context.Context, a arm, folder string) (*site, error) {
	s, dir := &site{arm: a}, filepath.Join(b.dir, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return s, err
	}
	if err := s.makeCache(b.cacheIn, dir); err != nil {
		return s, err
	}
	if err := os.WriteFile(filepath.Join(dir, "x.txt"), []byte("hello\n"), 0o644); err != nil {
		return s, err
	}
	auth, err := freeAddress()
	if err != nil {
		return s, err
	}
	if a.unix {
		auth = "unix:" + filepath.Join(dir, "auth.sock")
	}
	if a.answerer != "" {
		if err := s.spawn(ctx, os.Args[0], "-answerer", a.answerer, "-listen", auth); err != nil {
			return s, err
		}
		if err := reachable(ctx, auth); err != nil {
			return s, fmt.Errorf("%s: %w", a.name, err)
		}
	}
	if a.node {
		if err := s.startNode(ctx, b.program, dir, auth); err != nil {
			return s, fmt.Errorf("%s: %w", a.name, err)
		}
	}
	if s.address, err = freeAddress(); err != nil {
		return s, err
	}
	if a.haproxy {
		if err := s.startHAProxy(ctx, dir, auth); err != nil {
			return s, err
		}
		return s, reachable(ctx, s.address)
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(nginxConf(a, dir, s.address, auth)), 0o644); err != nil {
		return s, err
	}
	if err := s.spawn(ctx, "nginx", "-p", dir, "-c", conf); err != nil {
		return s, err
	}
	if err := reachable(ctx, s.address); err != nil {
		return s, fmt.Errorf("%s: nginx: %w", a.name, err)
	}
	return s, nil
}

// makeCache makes the folder of the passes where the snippet wants it.
func (s *site) makeCache(in, dir string) (err error) {
	if !s.cached {
		return nil
	}
	if s.cache, err = os.MkdirTemp(in, "authhop-cache"); err != nil {
		return fmt.Errorf("%w; -cache names another folder", err)
	}
	return os.Symlink(s.cache, cacheFolder(dir))
}

func cacheFolder(dir string) string { return filepath.Join(dir, "cache") }

func nginxConf(a arm, dir, listen, auth string) string {
	files := "location / {\n    root " + dir + ";\n}"
	var b strings.Builder
	// Not without its master: the processes that it starts clear the cache, which
	// is work that must be counted.
	fmt.Fprintf(&b, "daemon off;\nworker_processes 1;\npid %s/nginx.pid;\nerror_log stderr emerg;\n", dir)
	if os.Getuid() == 0 {
		b.WriteString("user root;\n") // the folder is ours
	}
	b.WriteString("events { worker_connections 1024; }\nhttp {\nkeepalive_requests 100000000;\n")
	if a.log {
		fmt.Fprintf(&b, "access_log %s combined buffer=64k flush=50ms;\n", logFile(dir))
	} else {
		b.WriteString("access_log off;\n")
	}
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	b.WriteString("set_real_ip_from 127.0.0.1;\nreal_ip_header X-Client;\n")
	if !a.asks() {
		fmt.Fprintf(&b, "server { listen %s;\n%s\n}\n", listen, files)
	} else {
		v := snippets.Values{Auth: auth, Listen: listen, Locations: files, Closed: true}
		if a.cached {
			v.Cache = cacheFolder(dir)
		}
		if err := snippets.Write(&b, "nginx", v); err != nil {
			panic(err) // a strings.Builder takes everything, and the name is ours
		}
	}
	b.WriteString("}\n")
	// On a busy machine an answerer may miss the snippet's deadlines, and what
	// was then measured would be something else.
	return strings.ReplaceAll(b.String(), " 100ms;", " 10s;")
}

// spawn starts a program that ends with the site, or with ctx.
func (s *site) spawn(ctx context.Context, name string, args ...string) error {
	return s.spawnTo(ctx, os.Stderr, name, args...)
}

// spawnTo is spawn for a program that tells more than its troubles.
func (s *site) spawnTo(ctx context.Context, out *os.File, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	// nginx's children would outlive a master that is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%s is not installed: apt-get install nginx-light", name)
		}
		return err
	}
	s.procs, s.stdins = append(s.procs, cmd), append(s.stdins, in)
	return nil
}

func (s *site) stop() {
	for i, cmd := range s.procs {
		_ = s.stdins[i].Close()
		_ = cmd.Cancel()
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	}
	if s.cache != "" {
		_ = os.RemoveAll(s.cache) // in memory, and small
	}
}

// freeAddress returns an address of loopback that is this program's until it ends.
func freeAddress() (string, error) {
	port, _, err := program.Claim()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// reachable waits until something listens.
func reachable(ctx context.Context, address string) error {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial(network, address)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("nobody listens on %s: %w", address, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
