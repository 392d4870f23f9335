package install

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is edited between the question and the answer, or while the node restarts, is not written over.
func TestEditedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		h.write("etc/edgeguard.yaml", strings.Replace(h.files()["etc/edgeguard.yaml"], "monitor", "enforce", 1))
		before := h.files()
		const edit = "\n# by hand\n"
		file := h.config
		if h.proxy == "nginx" {
			file = h.path("nginx/enabled/two")
		}
		name := strings.TrimPrefix(file, h.folder+"/")
		done := false
		h.before = func(string) {
			if text, err := os.ReadFile(file); !done && err == nil {
				h.write(name, string(text)+edit)
				done = true
			}
		}
		if err := h.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), file+" was changed since it was read") {
			t.Fatal(err)
		}
		if got := h.files()[name]; got != before[name]+edit {
			t.Errorf("%q", got)
		}
		h.same(before, name)
	})
}

// What is edited while the proxy checks it stays, and the error says so.
func TestEditedBeforeBack(t *testing.T) {
	f := files{folder: filepath.Join(t.TempDir(), "originals")}
	one := filepath.Join(t.TempDir(), "one")
	if err := errors.Join(os.WriteFile(one, []byte("old"), 0o600), f.write([]change{{one, []byte("old"), []byte("new")}}), os.WriteFile(one, []byte("edited"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := f.back(); err == nil || !strings.Contains(err.Error(), one+" was changed meanwhile") {
		t.Error(err)
	}
	if text, _ := os.ReadFile(one); string(text) != "edited" {
		t.Errorf("%s", text)
	}
}

// A list of changes that another user wrote is not taken up, nor one whose originals he could write.
func TestForged(t *testing.T) {
	for _, whose := range []string{"unfinished.json", "kept"} {
		f := files{folder: filepath.Join(t.TempDir(), "originals")}
		victim := filepath.Join(t.TempDir(), "victim")
		text, _ := json.Marshal([]entry{{victim, true, digest([]byte("mine"))}})
		list, kept := filepath.Join(f.folder, unfinished), f.kept(victim)
		if err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), put(list, text, 0o600), put(kept, []byte("forged"), 0o600)); err != nil {
			t.Fatal(err)
		}
		forged := list
		if whose == "kept" {
			forged = kept
		}
		if err := os.Chown(forged, 65534, 65534); err != nil {
			t.Skip(err)
		}
		if _, err := f.resume(); err == nil || !strings.Contains(err.Error(), "is not trusted") {
			t.Errorf("%s: %v", whose, err)
		}
		f.lock.Release()
	}
}

// A link of another user into the proxy's folders is not followed.
func TestLinkOfOthers(t *testing.T) {
	h := newHost(t, "nginx")
	link := h.path("nginx/enabled/one")
	if err := os.Lchown(link, 65534, 65534); err != nil {
		t.Skip(err)
	}
	before := h.files()
	if err := h.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), link+" is a link of user") {
		t.Error(err)
	}
	h.same(before)
}

// What has no lines because it was not read, or answers before them, is told.
func TestMissed(t *testing.T) {
	for proxy, file := range map[string][2]string{
		"nginx": {"nginx/enabled/long", strings.Repeat("# x\n", 1<<19)},
		"caddy": {"caddy/sites/d", "(s) {\n\troute {\n\t}\n}\n"},
	} {
		h := newHost(t, proxy)
		h.write(file[0], file[1])
		if err := h.do(Options{DryRun: true}, Install); err != nil || !strings.Contains(h.out.String(), "Not all was reached: "+h.path(file[0])) {
			t.Error(err, h.out.String())
		}
	}
}

// Where a file cannot be put back, those that it names stay, and the next run goes on.
func TestBackFails(t *testing.T) {
	h := newHost(t, "caddy")
	before := h.files()
	folder := h.path("caddy")
	h.before = func(path string) {
		if path == h.path("caddy/sites/c") {
			if err := errors.Join(os.Chmod(folder, 0o777), os.Chmod(folder+"/sites", 0o777)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := h.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), "Not every file is as it was") {
		t.Fatal(err)
	}
	if now := h.files(); now["caddy/edgeguard.conf"] == "" || !strings.Contains(now["caddy/Caddyfile"], "/edgeguard.conf") {
		t.Errorf("%q", now)
	}
	if h.before = nil; os.Chmod(folder, 0o755) != nil || os.Chmod(folder+"/sites", 0o755) != nil {
		t.Fatal("its folder stays writable")
	}
	if err := h.do(Options{}, Install); err == nil || !strings.Contains(h.out.String(), "interrupted") {
		t.Error(err, h.out.String())
	}
	h.same(before)
}
