package haproxy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/internal/unixsocket"
)

// open listens at a new socket for the processes of one user.
func open(t *testing.T, user string) (net.Listener, Enter) {
	t.Helper()
	dir, err := os.MkdirTemp("", "door") // every user can pass through it, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := unixsocket.Listen(filepath.Join(dir, "s"), unixsocket.Access{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	enter, err := Door{User: user}.Open(l)
	if err != nil && strings.Contains(err.Error(), "has no access lists") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, enter
}

// TestMain is a program, too: run as another user, it connects to a socket and says
// what came of it.
func TestMain(m *testing.M) {
	if path := os.Getenv("EDGEGUARD_CONNECT"); path != "" {
		c, err := net.Dial("unix", path)
		switch {
		case errors.Is(err, syscall.EACCES):
			os.Exit(3)
		case err != nil:
			os.Exit(4)
		}
		_ = c.Close()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// connectAs returns how the program ends that connects as a user: 0 for a
// connection, 3 for a permission that is missing.
func connectAs(t *testing.T, uid uint32, path string) int {
	t.Helper()
	text, err := os.ReadFile(os.Args[0]) // the test's own folder is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(path), "connect")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env, cmd.Dir = []string{"EDGEGUARD_CONNECT=" + path}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

const stranger, haproxy = 41001, 41002

// Only one user's processes come as far as a connection, and no other user of the
// host, whatever the groups.
func TestOneUserMayConnect(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can connect as other users")
	}
	l, enter := open(t, strconv.Itoa(haproxy))
	path := l.Addr().String()
	if code := connectAs(t, stranger, path); code != 3 {
		t.Errorf("a stranger's program ends with %d", code)
	}
	if code := connectAs(t, haproxy, path); code != 0 {
		t.Fatalf("HAProxy's program ends with %d", code)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enter(t.Context(), c); err != nil {
		t.Errorf("HAProxy: %v", err)
	}
}

// Who may open the file all the same, as root may, is turned away by his user.
func TestAnotherUserIsTurnedAway(t *testing.T) {
	l, enter := open(t, strconv.Itoa(os.Geteuid()+1))
	far, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := enter(t.Context(), c); !errors.Is(err, errUser) || !strings.Contains(err.Error(), "set `user`") {
		t.Errorf("%v", err)
	}
}

func TestOwnUser(t *testing.T) {
	l, enter := open(t, strconv.Itoa(os.Geteuid()))
	far, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := enter(t.Context(), c); err != nil {
		t.Error(err)
	}
}

// Where others may write to the folder, a link may take the place of the socket before its
// access list is set. The file that it leads to stays closed.
func TestLinkInPlaceOfTheSocket(t *testing.T) {
	l, err := unixsocket.Listen(filepath.Join(t.TempDir(), "s"), unixsocket.Access{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	path := l.Addr().String()
	secret := path + ".secret"
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink(secret, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := (Door{User: strconv.Itoa(haproxy)}).Open(l); err == nil || !strings.Contains(err.Error(), "choose a folder") {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(secret); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
}

func TestUnknownUser(t *testing.T) {
	l, err := unixsocket.Listen(filepath.Join(t.TempDir(), "s"), unixsocket.Access{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := (Door{User: "no-such-user"}).Open(l); err == nil || !strings.Contains(err.Error(), "set `user`") {
		t.Errorf("%v", err)
	}
}

// certificate writes a new one that signs itself, and its key.
func certificate(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Over TCP only the holder of a certificate enters; one of another authority, or
// none, does not. A certificate that was replaced is in force for the next connection.
func TestMutualTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, "edgeguard")
	clientCert, clientKey := certificate(t, dir, "haproxy")
	otherCert, otherKey := certificate(t, dir, "other")
	ca := filepath.Join(dir, "ca.crt")
	copyFile(t, clientCert, ca)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	enter, err := Door{TLS: TLS{cert, key, ca}}.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	with := func(cert, key string) *tls.Config {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true}
	}
	for _, one := range []struct {
		what  string
		as    *tls.Config
		enter bool
	}{
		{"HAProxy", with(clientCert, clientKey), true},
		{"a certificate of another authority", with(otherCert, otherKey), false},
		{"no certificate", &tls.Config{InsecureSkipVerify: true}, false},
	} {
		if err := meet(t, l, enter, one.as); (err == nil) != one.enter {
			t.Errorf("%s: %v", one.what, err)
		}
	}
	copyFile(t, otherCert, ca)
	if err := meet(t, l, enter, with(otherCert, otherKey)); err != nil {
		t.Errorf("after the authority was replaced: %v", err)
	}
	if err := meet(t, l, enter, with(clientCert, clientKey)); err == nil {
		t.Error("a certificate of the authority before")
	}
}

// meet has a client connect, and returns how it entered.
func meet(t *testing.T, l net.Listener, enter Enter, as *tls.Config) error {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := tls.Dial("tcp", l.Addr().String(), as)
		if err == nil {
			_, _ = c.Read(make([]byte, 1)) // until the other end closes
			_ = c.Close()
		}
	}()
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, err = enter(t.Context(), nc)
	_ = nc.Close()
	<-done
	return err
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Files that cannot be used are named when the listener opens. A client that says
// nothing waits for no longer than the context.
func TestTLSMistakes(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, "edgeguard")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for want, files := range map[string]TLS{
		filepath.Join(dir, "missing"): {filepath.Join(dir, "missing"), key, cert},
		"client_ca":                   {cert, key, filepath.Join(dir, "none")},
		"no certificate in PEM":       {cert, key, key},
		"client_ca_file is not set":   {cert, key, ""},
	} {
		if _, err := (Door{TLS: files}).Open(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	enter, err := Door{TLS: TLS{cert, key, cert}}.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := enter(ctx, near); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
