//go:build unix

package nodeaddr

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user who owns nothing.
const nobody = 65534

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// newPlace is a place in an empty folder. The temporary one is open to all, as /tmp is.
func newPlace(t *testing.T) Host {
	t.Helper()
	dir, err := os.MkdirTemp("", "own") // t.TempDir is too long for a socket's name
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := Host{Runtime: filepath.Join(dir, "mine"), User: os.Geteuid(), Temp: filepath.Join(dir, "tmp"), Run: filepath.Join(dir, "run")}
	must(t, os.Mkdir(p.Runtime, 0o700), os.Mkdir(p.Temp, 0o700), os.Chmod(p.Temp, 0o777|os.ModeSticky), os.MkdirAll(filepath.Join(p.Run, "user"), 0o755))
	return p
}

// listen listens where the place says, as a node does.
func listen(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.(*net.UnixListener)
}

// dead leaves a socket's file at which no process listens.
func dead(t *testing.T, path string) {
	t.Helper()
	l := listen(t, path)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
}

func name(pid int) string { return strconv.Itoa(pid) + ".sock" }

func TestFolder(t *testing.T) {
	p := newPlace(t)
	own := strconv.Itoa(p.User)
	inTemp := filepath.Join(p.Temp, "edgeguard-"+own)
	for _, c := range []struct {
		name   string
		before func()
		want   string
	}{
		{"the session's", func() {}, filepath.Join(p.Runtime, "edgeguard")},
		{"the session's is everybody's", func() { must(t, os.Chmod(p.Runtime, 0o777)) }, inTemp},
		{"none in the environment", func() { p.Runtime = "" }, inTemp},
		{"a relative one", func() { p.Runtime = "mine" }, inTemp},
		{"the user's", func() { must(t, os.Mkdir(filepath.Join(p.Run, "user", own), 0o700)) }, filepath.Join(p.Run, "user", own, "edgeguard")},
		{"too long", func() {
			p.Run, p.Temp = "/", filepath.Join(p.Temp, strings.Repeat("long", 30))
			must(t, os.Mkdir(p.Temp, 0o700))
		}, ""},
	} {
		c.before()
		if p.User == 0 && c.want == inTemp { // root has the system's
			c.want = filepath.Join(p.Run, "edgeguard-0")
		}
		if p.User == 0 && c.name == "too long" {
			continue // "/" is root's, and short
		}
		if got, err := p.folder(); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// The folder of a session that is another user's is not used, as after `sudo -E`: he
// could put a socket of his own in its place.
func TestFolderOfAnotherUser(t *testing.T) {
	p := newPlace(t)
	if p.User != 0 {
		t.Skip("it takes root to be another user")
	}
	must(t, os.Chown(p.Runtime, nobody, nobody))
	if got, err := p.folder(); err != nil || got != filepath.Join(p.Run, "edgeguard-0") {
		t.Errorf("%q, %v", got, err)
	}
}

// What a stranger lays in the place of the folder is refused by the node and by the
// commands: neither listens nor asks there.
func TestSquatter(t *testing.T) {
	p := newPlace(t)
	p.Runtime, p.Run = "", filepath.Join(p.Temp, "none")
	folder := filepath.Join(p.Temp, "edgeguard-"+strconv.Itoa(p.User))
	theirs := func(path string) error {
		if p.User != 0 {
			t.Skip("it takes root to be another user")
		}
		return os.Lchown(path, nobody, nobody)
	}
	for what, lay := range map[string]func(){
		"an open folder":            func() { must(t, os.Mkdir(folder, 0o700), os.Chmod(folder, 0o755)) },
		"a folder of a group":       func() { must(t, os.Mkdir(folder, 0o700), os.Chmod(folder, 0o770)) },
		"everybody's folder":        func() { must(t, os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777)) },
		"a file":                    func() { must(t, os.WriteFile(folder, nil, 0o600)) },
		"a folder of another user":  func() { must(t, os.Mkdir(folder, 0o700), theirs(folder)) },
		"a link of another user":    func() { must(t, os.Symlink(t.TempDir(), folder), theirs(folder)) },
		"a link that leads nowhere": func() { must(t, os.Symlink(filepath.Join(p.Temp, "nowhere"), folder)) },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() { _ = os.RemoveAll(folder) }()
			lay()
			if path, err := p.New(); err == nil {
				t.Errorf("the node listens at %s", path)
			}
			if found, err := p.Find(); err == nil {
				t.Errorf("the command asks at %v", found)
			}
		})
	}
}

// Whatever the umask, the folder is the user's alone.
func TestUmask(t *testing.T) {
	for _, mask := range []int{0, 0o777} {
		p := newPlace(t)
		before := syscall.Umask(mask)
		path, err := p.New()
		syscall.Umask(before)
		must(t, err)
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("umask %o: %v, %v", mask, info.Mode(), err)
		}
	}
}

func TestFind(t *testing.T) {
	p := newPlace(t)
	want := func(n int) []string {
		t.Helper()
		found, err := p.Find()
		if err != nil || len(found) != n {
			t.Fatalf("%v, %v", found, err)
		}
		return found
	}
	want(0)
	first, err := p.New()
	must(t, err)
	want(0)
	l := listen(t, first)
	if one, err := p.One(); err != nil || one != "unix:"+first || want(1)[0] != first {
		t.Errorf("%q, %v", one, err)
	}
	folder := filepath.Dir(first)
	must(t, os.WriteFile(filepath.Join(folder, "3.sock"), nil, 0o600), os.WriteFile(filepath.Join(folder, "note"), nil, 0o600))
	listen(t, filepath.Join(folder, "other.sock"))
	want(1)
	second := filepath.Join(folder, name(os.Getppid()))
	listen(t, second)
	if found := want(2); !slices.Contains(found, first) || !slices.Contains(found, second) {
		t.Errorf("%v", found)
	}
	if one, err := p.One(); err == nil || !strings.Contains(err.Error(), "--admin unix:"+first) || !strings.Contains(err.Error(), "--admin unix:"+second) {
		t.Errorf("%q, %v", one, err)
	}
	must(t, l.Close())
	if one, err := p.One(); err != nil || one != "unix:"+second {
		t.Errorf("%q, %v", one, err)
	}
}

// The sockets of nodes that were killed go; those of nodes that run stay, even of one
// that has bound its socket and does not listen yet.
func TestKilledNodes(t *testing.T) {
	p := newPlace(t)
	own, err := p.New()
	must(t, err)
	ran := exec.Command("true")
	must(t, ran.Run())
	folder := filepath.Dir(own)
	killed, starting, running := filepath.Join(folder, name(ran.Process.Pid)), filepath.Join(folder, name(os.Getppid())), filepath.Join(folder, name(4_194_303))
	dead(t, killed)
	dead(t, starting)
	listen(t, running)
	dead(t, own) // of a process before us, with our number
	if found, err := p.Find(); err != nil || len(found) != 1 || found[0] != running {
		t.Errorf("%v, %v", found, err)
	}
	if path, err := p.New(); err != nil || path != own {
		t.Fatalf("%q, %v", path, err)
	}
	for path, want := range map[string]bool{killed: false, own: false, starting: true, running: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	listen(t, own) // a process of another namespace
	if path, err := p.New(); err == nil {
		t.Errorf("%q is taken from a process of another namespace", path)
	}
}
