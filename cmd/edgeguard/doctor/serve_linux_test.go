package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// examined writes a config and examines it as no unit.
func examined(t *testing.T, text string) *report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "edgeguard.yaml")
	if err := os.WriteFile(file, []byte(text+"\nrules: [{name: small, threshold: 5, match: {path: /login}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := doctor(t, file, Unit{})
	return r
}

func (r *report) wants(t *testing.T, about string, is severity, parts ...string) {
	t.Helper()
	f := r.of(about)
	if f.Severity != is {
		t.Errorf("%s: %+v, want severity %d", about, f, is)
	}
	for _, part := range parts {
		if !strings.Contains(f.Text, part) {
			t.Errorf("%s: %q, want %q in it", about, f.Text, part)
		}
	}
}

// The fleet's Redis is asked as the node will ask it.
func TestFleetRedis(t *testing.T) {
	s := redistest.Start(t, redistest.Options{Password: "secret"})
	password := filepath.Join(t.TempDir(), "password")
	fleet := func(given string) *report {
		if err := os.WriteFile(password, []byte(given), 0o600); err != nil {
			t.Fatal(err)
		}
		return examined(t, fmt.Sprintf("fleet: {redis: 'redis://%s', password_file: %s}", s.Addr, password))
	}
	fleet("wrong").wants(t, "fleet Redis", wrong, "password")
	fleet("secret").wants(t, "fleet Redis", doubt, "edgeguard fleet install")
	if _, err := redis.Install(t.Context(), s.Client()); err != nil {
		t.Fatal(err)
	}
	fleet("secret").wants(t, "fleet Redis", fine, "answers at redis://"+s.Addr)
	if err := s.Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	fleet("secret").wants(t, "fleet Redis", doubt, "allkeys-lru", "set it to noeviction")
	s.Kill()
	fleet("secret").wants(t, "fleet Redis", wrong, "connect")
}

// With a port of another program a node does not start.
func TestPortOfAnother(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := examined(t, fmt.Sprintf("listen: {auth: ['%s'], admin: ['unix:%s/admin.sock']}", l.Addr(), t.TempDir()))
	r.wants(t, "listen.auth[0] "+l.Addr().String(), wrong, "another program", "ss -ltnp")
}

// A folder that cannot be written is said once, for all that needs it, with its fix: also where a
// file can be made and there is no room for what is in it.
func TestFolderWithoutRoom(t *testing.T) {
	folder := t.TempDir()
	config := fmt.Sprintf("state: %[1]s\nlisten: {admin: ['unix:%[1]s/admin.sock'], auth: ['unix:%[1]s/auth.sock']}\nenforce: {files: [{file: %[1]s/deny, format: plain}]}", folder)
	examined(t, config).wants(t, "state "+folder, fine, "is writable")
	if err := syscall.Mount("none", folder, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a file system cannot be mounted here, so a full one is not tried: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := examined(t, config)
	said := 0
	for _, f := range r.Findings {
		if strings.Contains(f.Text, folder) && f.Severity == wrong {
			said++
			for _, part := range []string{"admin.sock", "auth.sock", "state " + folder, "list " + folder + "/deny"} {
				if !strings.Contains(f.About, part) {
					t.Errorf("%q is not about %s", f.About, part)
				}
			}
			if !strings.Contains(f.Text, "no space left on device") || !strings.Contains(f.Text, "df -h "+folder) {
				t.Error(f.Text)
			}
		}
	}
	if said != 1 {
		t.Errorf("said %d times: %+v", said, r.Findings)
	}
	if err := syscall.Mount("none", folder, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	examined(t, config).wants(t, "listen.auth[0] unix:"+folder, wrong, "read-only file system", "mount it writable")
}
