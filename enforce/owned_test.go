package enforce

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var testEntries = []Entry{
	{Prefix: netip.MustParsePrefix("203.0.113.9/32"), Until: time.Unix(1_800_000_600, 0)},
	{Prefix: netip.MustParsePrefix("2001:db8::/48"), Until: time.Unix(1_800_000_600, 0)},
}

func listOfFormat(f Format, entries []Entry) string {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	f.write(w, "edgeguard", time.Unix(1_800_000_000, 0), entries)
	_ = w.Flush()
	return b.String()
}

// Each format knows its own lists, full and empty, and nobody else's file.
func TestWrote(t *testing.T) {
	foreign := []string{"deny 192.0.2.1;\nallow all;\n", "# my own\n192.0.2.1\n", heading + "include /etc/passwd;\n", "root:x:0:0::/root:/bin/sh\n",
		"\x7fELF\x00\x00", strings.Repeat("x", 1<<20), heading + "table inet other {\n", "203.0.113.9 1\nrm -rf\n"}
	for i := range layouts {
		f := Format(i)
		for _, entries := range [][]Entry{nil, testEntries} {
			if text := listOfFormat(f, entries); !f.wrote(strings.NewReader(text), "edgeguard") {
				t.Errorf("%s does not know its own:\n%s", f, text)
			}
		}
		for _, text := range foreign {
			if f.wrote(strings.NewReader(text), "edgeguard") {
				t.Errorf("%s takes for its own:\n%.100s", f, text)
			}
		}
	}
}

// A list is emptied once, and only where it is the file that was recorded.
func TestEmpty(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	full := listOfFormat(FormatNginx, testEntries)
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		want   error
		left   string // what the path then says
	}{
		"ours":      {func(*testing.T, string) {}, nil, heading},
		"gone":      {func(t *testing.T, path string) { must(t, os.Remove(path)) }, nil, ""},
		"rewritten": {func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("allow all;\n"), 0o644)) }, ErrNotOurs, "allow all;\n"},
		"a link elsewhere": {func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".other"))
			must(t, os.Symlink(path+".other", path))
		}, ErrNotOurs, full},
		"a folder": {func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o755))
		}, ErrNotOurs, ""},
		"kept by another": {func(t *testing.T, path string) {
			c, err := takeClaim(path, false)
			must(t, err)
			t.Cleanup(c.Release)
		}, ErrInUse, full},
		"a lock that is a link": {func(t *testing.T, path string) {
			dir, base := filepath.Split(path)
			must(t, os.Remove(filepath.Join(dir, "."+base+".lock")))
			must(t, os.Symlink(path, filepath.Join(dir, "."+base+".lock")))
		}, errAny, full},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "list")
			config := FileConfig{Path: path, Format: FormatNginx}
			o := NewOwned(config, false)
			f, err := NewFile(config)
			must(t, err)
			must(t, f.Replace(t.Context(), now, testEntries))
			must(t, f.Close())
			c.change(t, path)
			err = o.Empty(t.Context(), now)
			if c.want == errAny && err == nil || c.want != errAny && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if text, _ := os.ReadFile(path); string(text) != c.left {
				t.Errorf("it says %q, want %q", text, c.left)
			}
		})
	}
}

// errAny stands for any error.
var errAny = errors.New("any")

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Where the reload fails the file is empty, and the error says that nobody was
// told; the next try tells.
func TestEmptyTells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	flag := path + ".flag"
	config := FileConfig{Path: path, Format: FormatPlain, Reload: []string{"sh", "-c", "test -e " + flag + " && echo told > " + flag}}
	o := NewOwned(config, false)
	must(t, os.WriteFile(path, []byte("203.0.113.9\n"), 0o644))
	if err := o.Empty(t.Context(), time.Unix(0, 0)); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("a reload that fails: %v", err)
	}
	if text, _ := os.ReadFile(path); len(text) != 0 {
		t.Errorf("the file says %q", text)
	}
	must(t, os.WriteFile(flag, nil, 0o644))
	must(t, o.Empty(t.Context(), time.Unix(0, 0)))
	if text, _ := os.ReadFile(flag); string(text) != "told\n" {
		t.Errorf("nobody was told: %q", text)
	}
}

// Who keeps a list cannot write it while it is emptied; several may keep it, and
// while one does nobody empties it.
func TestClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	keep := func() *File {
		f, err := NewFile(FileConfig{Path: path})
		must(t, err)
		return f
	}
	alone, err := takeClaim(path, true)
	must(t, err)
	first, second := keep(), keep()
	if err := first.Replace(t.Context(), time.Unix(0, 0), testEntries); err == nil {
		t.Error("it is written while it is emptied")
	}
	alone.Remove()
	must(t, first.Replace(t.Context(), time.Unix(0, 0), testEntries))
	must(t, second.Replace(t.Context(), time.Unix(0, 0), testEntries))
	must(t, first.Close())
	if _, err := takeClaim(path, true); !errors.Is(err, ErrInUse) {
		t.Errorf("while another keeps it: %v", err)
	}
	must(t, second.Close())
	alone, err = takeClaim(path, true)
	must(t, err)
	alone.Remove()
}

// The record comes back as it was written; what is damaged, foreign, of another
// version or too large is refused.
func TestOwnedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), OwnedName)
	if _, err := LoadOwned(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	want := []Owned{
		NewOwned(FileConfig{Path: "/nowhere/list", Format: FormatNFT, Name: "edge", Reload: []string{"nft", "-f", "/nowhere/list"}}, false),
		NewOwned(FileConfig{Path: "/nowhere/acl", Format: FormatHAProxy, Socket: "/nowhere/sock"}, true),
	}
	must(t, SaveOwned(path, want))
	got, err := LoadOwned(path)
	if err != nil || !slices.EqualFunc(got, want, func(a, b Owned) bool {
		return slices.Equal(a.Reload, b.Reload) && a.Path == b.Path && a.File == b.File && a.Format == b.Format && a.Name == b.Name && a.Socket == b.Socket && a.Keep == b.Keep
	}) {
		t.Errorf("%+v, %v", got, err)
	}
	text, err := os.ReadFile(path)
	must(t, err)
	for i := range text {
		bad := slices.Clone(text)
		bad[i] ^= 0x20
		must(t, os.WriteFile(path, bad, 0o644))
		if _, err := LoadOwned(path); err == nil {
			t.Errorf("damage of byte %d is not seen: %s", i, bad)
		}
	}
	must(t, os.WriteFile(path, append(text, bytes.Repeat([]byte(" "), mostOwnedBytes)...), 0o644))
	if _, err := LoadOwned(path); err == nil {
		t.Error("a file of a megabyte is read")
	}
	if err := SaveOwned(path, make([]Owned, mostOwned+1)); err == nil {
		t.Error("the record has no bound")
	}
}

func FuzzLoadOwned(f *testing.F) {
	path := filepath.Join(f.TempDir(), OwnedName)
	if err := SaveOwned(path, []Owned{NewOwned(FileConfig{Path: "/nowhere/list"}, true)}); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(ownedHead + "0000000000000000\n[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), OwnedName)
		must(t, os.WriteFile(path, text, 0o644))
		lists, err := LoadOwned(path)
		if err == nil && len(lists) > mostOwned {
			t.Errorf("%d lists", len(lists))
		}
	})
}
