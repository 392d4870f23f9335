package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// What must be found nowhere but where it was put.
const (
	secretToken    = "tok-7Qx1admin-0123456789"
	secretPassword = "pw-7Qx2redis"
	secretProxy    = "proxy-7Qx8nginx-0123456789"
	secretWrong    = "pw-7Qx3wrong"
	secretLoader   = "pw-7Qx4loader"
	secretURL      = "pw-7Qx5url"
	secretAPIKey   = "key-7Qx6client"
	secretGarbage  = "auth-7Qx7garbage"
	secretMark     = "7Qx" // is in all of them
)

const secretsConfig = `
listen:
  auth: ["%[2]s"]
  admin: ["unix:%[1]s/admin.sock", {address: "%[3]s", token_file: %[1]s/token, proxy_auth: {from: [127.0.0.1], secret_file: %[1]s/proxy}}]
state: %[1]s/state
rules:
  - {name: small, threshold: 3}
  - {name: keyed, threshold: 2, key: {with: ["header:X-Api-Key"]}, action: deny}
fleet: {redis: "redis://%[4]s", password_file: %[1]s/password, loader_file: %[1]s/loader}
enforce: {files: [{file: %[1]s/list, format: nginx-geo}]}
`

// A real node with a secret wherever one can be: none is in what it says,
// answers, keeps or is started with.
func TestSecretsStayInside(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Password: secretPassword})
	s := &site{t: t, dir: t.TempDir(), auth: program.Address(t)}
	desk := program.Address(t)
	in := func(name string) string { return filepath.Join(s.dir, name) }
	s.write("token", secretToken+"\n")
	s.write("proxy", secretProxy+"\n")
	s.write("password", secretPassword+"\n")
	s.write("loader", "default\n"+secretPassword+"\n")
	s.write("config.yaml", fmt.Sprintf(secretsConfig, s.dir, s.auth, desk, server.Addr))
	s.write("url.yaml", strings.Replace(fmt.Sprintf(secretsConfig, s.dir, s.auth, desk, server.Addr), "redis://", "redis://edge:"+secretURL+"@", 1))
	s.write("broken.yaml", "fleet: {redis: 'redis://edge:"+secretURL+"@host:bad:port'}\n")

	var said bytes.Buffer
	note := func(what string, text []byte) { fmt.Fprintf(&said, "== %s\n%s\n", what, text) }
	run := func(args ...string) {
		c := edgeguardCommand(args...)
		out, _ := c.CombinedOutput()
		for i, a := range args { // what it was told is no leak
			if strings.Contains(a, secretMark) {
				args[i] = "…"
			}
		}
		note(strings.Join(args, " "), out)
	}
	get := func(address, path, token string) {
		header := map[string]string{}
		if token != "" {
			header["Authorization"] = "Bearer " + token
		}
		code, body, err := getStatus(address, path, header)
		note(fmt.Sprintf("%s%s %d %v", address, path, code, err), []byte(body))
	}

	s.start()
	for range 6 {
		_, _, _ = getStatus(s.auth, "/auth/forward", map[string]string{"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Uri": "/", "X-Api-Key": secretAPIKey, "Authorization": "Bearer " + secretGarbage})
	}
	for _, address := range []string{s.auth, desk} {
		for _, text := range []string{secretGarbage + "\r\n\r\n", "GET /\x00" + secretGarbage + " HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nAuthorization " + secretGarbage + "\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: " + secretGarbage + "\r\n\r\n"} {
			note("garbage", converse(t, address, text))
		}
	}
	get(desk, "/api/v1/status", secretToken)
	get(desk, "/api/v1/status", secretWrong) // a wrong one is somebody's, too
	admin := "unix:" + in("admin.sock")
	s.eventually("the fleet", func() bool {
		_, body, _ := getStatus(admin, "/api/v1/fleet", nil)
		return strings.Contains(body, "node")
	})
	look := func() {
		for _, path := range []string{"/readyz", "/metrics", "/api/v1/status", "/api/v1/fleet", "/api/v1/blocks", "/api/v1/held", "/api/v1/allow", "/api/v1/rules",
			"/api/v1/top", "/api/v1/explain/203.0.113.9", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/"} {
			get(admin, path, "")
		}
		for _, args := range [][]string{{"doctor"}, {"check"}, {"blocks"}, {"explain", "203.0.113.9"}, {"fleet", "status"}, {"fleet", "install"}, {"fleet", "acl"}} {
			run(append(args, "--config", in("config.yaml"))...)
		}
		note("arguments", readAll(t, fmt.Sprintf("/proc/%d/cmdline", s.node.Process.Pid)))
		note("environment", readAll(t, fmt.Sprintf("/proc/%d/environ", s.node.Process.Pid)))
	}
	look()
	run("check", "--config", in("url.yaml"))
	run("check", "--config", in("broken.yaml"))
	run("fleet", "status", "--config", in("config.yaml"), "--redis", "redis://edge:"+secretURL+"@127.0.0.1:1")
	run("fleet", "status", "--config", in("config.yaml"), "--redis", "redis://edge:"+secretURL+"@host:bad:port")
	run("replay", "--fleet", "redis://edge:"+secretURL+"@127.0.0.1:1", "--threshold", "5", "/dev/null")

	// The passwords become wrong, and a reload meets a config with one in it.
	s.write("password", secretWrong+"\n")
	s.write("loader", "loader\n"+secretLoader+"\n")
	s.write("config.yaml", strings.Replace(fmt.Sprintf(secretsConfig, s.dir, s.auth, desk, server.Addr), "redis://", "redis://edge:"+secretURL+"@", 1))
	_ = s.node.Process.Signal(syscall.SIGHUP)
	s.eventually("the reload is refused", func() bool {
		_, body, _ := getStatus(admin, "/api/v1/status", nil)
		return strings.Contains(body, "was not reloaded")
	})
	get(admin, "/api/v1/status", "")
	s.write("config.yaml", fmt.Sprintf(secretsConfig, s.dir, s.auth, desk, server.Addr))
	s.stop(syscall.SIGTERM)
	note("log", s.log.Bytes())
	s.start()
	s.eventually("the password is refused", func() bool {
		_, body, _ := getStatus(admin, "/api/v1/status", nil)
		return strings.Contains(body, "password") || strings.Contains(body, "WRONGPASS")
	})
	look()
	s.stop(syscall.SIGTERM)
	note("log", s.log.Bytes())
	for _, name := range []string{"state/node.state", "list"} {
		note(name, readAll(t, in(name)))
	}
	if !strings.Contains(said.String(), "keyed") || !strings.Contains(said.String(), "== log") {
		t.Errorf("little was looked at:\n%s", said.String())
	}
	section := ""
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, "== ") {
			section = line
		}
		if at := strings.Index(line, secretMark); at >= 0 {
			t.Errorf("in %s\t…%s", section, line[max(0, at-100):min(len(line), at+40)])
		}
	}
}

// Everybody's files are named, with the fix; what a closed folder protects is
// not.
func TestOpenSecrets(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o644: true, 0o640: false} {
		s := &site{t: t, dir: openFolder(t)}
		for _, name := range []string{"token", "password", "proxy"} {
			s.write(name, secretToken+"\n")
			if err := os.Chmod(filepath.Join(s.dir, name), mode); err != nil {
				t.Fatal(err)
			}
		}
		s.write("config.yaml", fmt.Sprintf(secretsConfig, s.dir, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"))
		look := func() (int, string) {
			var errs bytes.Buffer
			c := edgeguardCommand("check", "--config", filepath.Join(s.dir, "config.yaml"))
			c.Stderr = &errs
			if err := c.Run(); err != nil {
				t.Fatalf("%v: %s", err, &errs)
			}
			return strings.Count(errs.String(), "chmod 0640"), errs.String()
		}
		if got, text := look(); (got == 3) != want || (got == 0) == want {
			t.Errorf("mode %v: %s", mode, text)
		}
		if err := os.Chmod(s.dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if got, text := look(); got != 0 {
			t.Errorf("in a closed folder: %s", text)
		}
	}
}

// openFolder returns a folder that every user may enter.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "eg")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// converse sends bytes and gives the answer.
func converse(t *testing.T, address, text string) []byte {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	return answer
}

func readAll(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	return text
}
