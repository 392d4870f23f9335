package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Options says what kind of server to start. The zero value is an open one
// that keeps nothing on disk.
type Options struct {
	// AOF writes every command to disk before it is answered, so that a server
	// that is killed and started again holds all that it acknowledged.
	AOF bool
	// Password is what the default user must send.
	Password string
	// Users are lines of an ACL file: "user edge on >secret …". The default
	// user stays, with Password, unless a line names it.
	Users []string
	// TLS makes the server speak TLS only, with a certificate for 127.0.0.1
	// made for this test.
	TLS bool
	// MaxMemory is what the server may hold ("256mb" if empty), and Policy what
	// it does then ("noeviction" if empty).
	MaxMemory, Policy string
	// Port 0 is a free one. Another lets a server appear where one was before.
	Port int
	// Args are added to the server's command line.
	Args []string

	watcher string // the config file of a Sentinel, which takes no other option
}

// args builds the command line of a server in dir, except for its port.
func (o Options) args(t testing.TB, dir string) []string {
	t.Helper()
	if o.watcher != "" {
		return []string{"--sentinel", "--bind", "127.0.0.1", "--dir", dir}
	}
	args := []string{
		"--bind", "127.0.0.1", "--dir", dir, "--save", "", "--daemonize", "no",
		"--maxmemory", orElse(o.MaxMemory, "256mb"), "--maxmemory-policy", orElse(o.Policy, "noeviction"),
		"--repl-diskless-sync-delay", "0", "--loglevel", "notice",
	}
	if o.AOF {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	if len(o.Users) > 0 {
		file := filepath.Join(dir, "users.acl")
		write(t, file, o.users())
		args = append(args, "--aclfile", file)
	} else if o.Password != "" {
		args = append(args, "--requirepass", o.Password, "--masterauth", o.Password)
	}
	return append(args, o.Args...)
}

// portArgs is the port's part of the command line.
func (o Options) portArgs(dir string, port int) []string {
	if o.watcher != "" {
		return []string{o.watcher, "--port", strconv.Itoa(port)}
	}
	if !o.TLS {
		return []string{"--port", strconv.Itoa(port)}
	}
	return []string{
		"--port", "0", "--tls-port", strconv.Itoa(port), "--tls-auth-clients", "no",
		"--tls-cert-file", filepath.Join(dir, "cert.pem"), "--tls-key-file", filepath.Join(dir, "key.pem"),
		"--tls-ca-cert-file", filepath.Join(dir, "cert.pem"),
	}
}

func (o Options) users() string {
	text := strings.Join(o.Users, "\n") + "\n"
	if strings.Contains(text, "user default ") {
		return text
	}
	secret := "nopass"
	if o.Password != "" {
		secret = ">" + o.Password
	}
	return fmt.Sprintf("user default on %s ~* &* +@all\n%s", secret, text)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}
