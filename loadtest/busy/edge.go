package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// blocked is the client that is blocked.
const blocked = "203.0.113.77"

// edge is a site: edgeguard, nginx that asks it, and the sink.
type edge struct {
	dir, program                                        string
	auth, admin, guarded, lapi, tls, envoy, nginx, sink string
	ends                                                []func()
}

// targets returns where each flood goes.
func (e *edge) targets() map[string]string {
	return map[string]string{
		"healthz": e.admin, "top": e.admin, "login": e.guarded, "lapi": e.lapi, "auth": e.auth, "kept": e.auth,
		"settings": e.envoy, "ping": e.envoy, "reset": e.envoy, "tls": e.tls,
	}
}

// start starts all, and has the client blocked.
func (e *edge) start(ctx context.Context) error {
	for _, address := range []*string{&e.auth, &e.admin, &e.guarded, &e.lapi, &e.tls, &e.envoy, &e.nginx, &e.sink} {
		port, _, err := program.Claim()
		if err != nil {
			return err
		}
		*address = fmt.Sprintf("127.0.0.1:%d", port)
	}
	if e.program == "" {
		var err error
		if e.program, err = program.Compile(ctx, e.dir, program.Edgeguard); err != nil {
			return err
		}
	}
	if err := e.write(); err != nil {
		return err
	}
	for _, command := range [][]string{
		{os.Args[0], "-as", "sink", "-at", e.sink},
		{e.program, "serve", "--config", e.path("edgeguard.yaml")},
		{"nginx", "-p", e.dir, "-c", e.path("nginx.conf")},
	} {
		stop, err := e.spawn(ctx, command[0], command[1:]...)
		if err != nil {
			return err
		}
		e.ends = append(e.ends, stop)
	}
	for _, address := range []string{e.auth, e.admin, e.guarded, e.lapi, e.tls, e.envoy, e.nginx, e.sink} {
		if err := reachable(ctx, address); err != nil {
			said, _ := os.ReadFile(e.path("out")) // without it there is less to go by, no more
			return fmt.Errorf("%w\n%s", err, said)
		}
	}
	return e.block(ctx)
}

func (e *edge) path(name string) string { return filepath.Join(e.dir, name) }

// write writes the files of all.
func (e *edge) write() error {
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
		"-keyout", e.path("key.pem"), "-out", e.path("cert.pem")).CombinedOutput(); err != nil {
		return fmt.Errorf("openssl: %w\n%s", err, out)
	}
	for name, text := range map[string]string{
		"token": strings.Repeat("secret", 8) + "\n", "index.html": "hello\n", "nginx.conf": e.nginxConf(),
		"edgeguard.yaml": fmt.Sprintf(`listen:
  auth: [%q]
  admin: [%q, {address: %q, token_file: %q}, "unix:%s"]
  envoy: [%q]
crowdsec:
  lapi:
    - {listen: %q}
    - {listen: %q, tls: {cert_file: %s, key_file: %s}}
state: %s
memory: 512MB
rules:
  - {name: site, threshold: 60000, action: shadow}
`, e.auth, e.admin, e.guarded, e.path("token"), e.path("admin.sock"), e.envoy, e.lapi, e.tls, e.path("cert.pem"), e.path("key.pem"), e.path("state")),
	} {
		if err := os.WriteFile(e.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.Chmod(e.path("index.html"), 0o644)
}

// nginxConf is that of a site which asks as the snippet says.
func (e *edge) nginxConf() string {
	var b strings.Builder
	fmt.Fprintf(&b, "daemon off;\nworker_processes 1;\npid %s;\nerror_log stderr emerg;\n", e.path("nginx.pid"))
	if os.Getuid() == 0 {
		b.WriteString("user root;\n") // the folder is ours
	}
	b.WriteString("events { worker_connections 1024; }\nhttp {\naccess_log off;\nset_real_ip_from 127.0.0.1;\nreal_ip_header X-Client;\n")
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "%s_temp_path %s;\n", kind, e.path(kind))
	}
	v := snippets.Values{Auth: e.auth, Listen: e.nginx, Locations: "location / {\n    root " + e.dir + ";\n}"}
	if err := snippets.Write(&b, "nginx", v); err != nil {
		panic(err) // a strings.Builder takes everything, and the name is ours
	}
	b.WriteString("}\n")
	return b.String()
}

// block has the client blocked, and waits until nginx refuses it.
func (e *edge) block(ctx context.Context) error {
	node, err := client.New(client.Config{Address: "unix:" + e.path("admin.sock")})
	if err != nil {
		return err
	}
	if _, err := node.Block(ctx, admin.BlockRequest{Prefix: blocked, For: "1h", Reason: "measured"}); err != nil {
		return err
	}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if code := status(e.nginx); code == 429 {
			return nil
		} else if time.Since(begun) > 10*time.Second {
			return fmt.Errorf("nginx answers the blocked client with %d", code)
		}
	}
}

// spawn starts a program, and returns what ends it.
func (e *edge) spawn(ctx context.Context, name string, args ...string) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := os.OpenFile(e.path("out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	// nginx's children would outlive a master that is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = in.Close()
		_ = cmd.Cancel()
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		_ = cmd.Wait()
	}, nil
}

func (e *edge) stop() {
	for _, end := range e.ends {
		end()
	}
}

// reachable waits until something listens.
func reachable(ctx context.Context, address string) error {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		if time.Since(begun) > 10*time.Second || ctx.Err() != nil {
			return fmt.Errorf("nobody listens on %s: %w", address, err)
		}
	}
}
