//go:build unix

package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const nobody = 65534

func mustDo(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What a stranger could have laid is refused, with the fix; what is usual is not.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustDo(t,
		os.Mkdir(in("own"), 0o755), os.WriteFile(in("own/list"), nil, 0o644),
		os.Symlink("own/list", in("link")), os.Symlink(in("own"), in("folder")),
		os.Symlink("../own/../own/new", in("own/dangling")),
		os.Mkdir(in("group"), 0), os.Chmod(in("group"), 0o770),
		os.Mkdir(in("open"), 0), os.Chmod(in("open"), 0o777), os.Mkdir(in("open/below"), 0o755),
		os.Mkdir(in("sticky"), 0), os.Chmod(in("sticky"), 0o777|fs.ModeSticky), os.Mkdir(in("sticky/own"), 0o755),
		os.Symlink("round", in("round")),
	)
	cases := []struct{ path, at, want string }{
		{"own/list", "own/list", ""},
		{"own/./../own//new", "own/new", ""},
		{"link", "own/list", ""},
		{"folder/new", "own/new", ""},
		{"own/dangling", "own/new", ""},
		{"group/list", "group/list", ""},
		{"sticky/list", "sticky/list", ""},
		{"sticky/own/list", "sticky/own/list", ""},
		{"open/list", "", "chmod o-w"},
		{"open/below/list", "", "chmod o-w"},
		{"round", "", "too many links"},
		{"own", "", "not a file"},
		{"own/list/x", "", "not a directory"},
	}
	if os.Geteuid() == 0 {
		mustDo(t,
			os.Symlink("/etc/passwd", in("sticky/passwd")), os.Lchown(in("sticky/passwd"), nobody, nobody),
			os.WriteFile(in("sticky/theirs"), nil, 0o644), os.Chown(in("sticky/theirs"), nobody, nobody),
			os.Mkdir(in("sticky/dir"), 0o755), os.Chown(in("sticky/dir"), nobody, nobody),
			os.Mkdir(in("home"), 0o755), os.Chown(in("home"), nobody, nobody),
			os.Symlink("/etc/passwd", in("home/passwd")), os.Lchown(in("home/passwd"), nobody, nobody),
			os.Symlink("own", in("their")), os.Lchown(in("their"), nobody, nobody),
		)
		cases = append(cases, []struct{ path, at, want string }{
			{"sticky/passwd", "", "is a link of user"},
			{"sticky/theirs", "", "belongs to user"},
			{"sticky/dir/list", "", "belongs to user"},
			{"home/passwd", "", "chown -h root"},
			{"their/list", "", "is a link of user"},
			{"home/list", "home/list", ""},
		}...)
	} else {
		t.Log("not root: no files of others are tried")
	}
	for _, c := range cases {
		p, err := Open(in(c.path))
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.path, err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", c.path, err)
		default:
			if real, _ := filepath.EvalSymlinks(dir); p.Path != filepath.Join(real, c.at) || p.Name != filepath.Base(c.at) {
				t.Errorf("%s: %s", c.path, p.Path)
			}
			_ = p.Close()
		}
	}
	if os.Geteuid() == 0 {
		mustDo(t, os.WriteFile(in("home/theirs"), nil, 0o644), os.Chown(in("home/theirs"), nobody, nobody), os.WriteFile(in("home/ours"), nil, 0o644))
		for name, want := range map[string]string{"home/theirs": "is not trusted", "home/ours": "", "home/none": "no such file"} {
			p, err := Open(in(name))
			mustDo(t, err)
			f, err := p.OpenOwn()
			if err == nil {
				_ = f.Close()
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
			_ = p.Close()
		}
	}
	if _, err := Open(in("none/list")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if doubts, err := Doubts(in("group/list")); err != nil || len(doubts) != 1 || !strings.Contains(doubts[0], "chmod g-w") {
		t.Errorf("%v, %v", doubts, err)
	}
	if doubts, err := Doubts(in("own/list")); err != nil || len(doubts) != 0 {
		t.Errorf("%v, %v", doubts, err)
	}
}

// A way through random folders and links leads where the kernel says.
func TestWaysAsTheKernels(t *testing.T) {
	dir := t.TempDir()
	var folders = []string{dir}
	for i := range 20 {
		folder := filepath.Join(folders[rand.IntN(len(folders))], fmt.Sprint("d", i))
		mustDo(t, os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "f"), nil, 0o644))
		folders = append(folders, folder)
	}
	words := []string{"..", ".", "f", "l1", "l2"}
	for i := range 20 {
		words = append(words, fmt.Sprint("d", i))
	}
	some := func() string {
		var parts []string
		for range 1 + rand.IntN(4) {
			parts = append(parts, words[rand.IntN(len(words))])
		}
		return strings.Join(parts, "/")
	}
	for _, folder := range folders {
		for _, name := range []string{"l1", "l2"} {
			to := some()
			if rand.IntN(3) == 0 {
				to = filepath.Join(folders[rand.IntN(len(folders))], "f")
			}
			mustDo(t, os.Symlink(to, filepath.Join(folder, name)))
		}
	}
	found := 0
	for range 20_000 {
		path := folders[rand.IntN(len(folders))] + "/" + some()
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			continue
		}
		found++
		p, err := Open(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := p.Lstat(p.Name)
		_ = p.Close()
		if err != nil || !os.SameFile(got, info) {
			t.Fatalf("%s leads to %s, %v", path, p.Path, err)
		}
	}
	if found == 0 {
		t.Error("no way led to a file")
	}
}

func TestReadOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kept")
	if _, err := ReadOwn(path, 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := ReadOwn(filepath.Join(dir, "none", "kept"), 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	mustDo(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	for most, want := range map[int64]string{9: "012345678", 10: "0123456789", 99: "0123456789"} {
		if got, err := ReadOwn(path, most); err != nil || string(got) != want {
			t.Errorf("%d bytes at most: %q, %v", most, got, err)
		}
	}
	if os.Geteuid() == 0 {
		mustDo(t, os.Chown(path, nobody, nobody))
		if got, err := ReadOwn(path, 9); err == nil || got != nil || !strings.Contains(err.Error(), "chown") {
			t.Errorf("another user's file: %q, %v", got, err)
		}
	}
}
