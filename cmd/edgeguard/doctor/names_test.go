package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
	"edgeguard/setup"
)

// A folder of names that a proxy cannot use is found: no folder, one that is closed, and an
// nginx that does not look into it, or remembers too long.
func TestNames(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "edgeguard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(dir, 0o755))
	folder, nginx := filepath.Join(dir, "names"), filepath.Join(t.TempDir(), "nginx.conf")
	c := &config.Config{}
	found := func() string {
		x := &examination{}
		x.names(c, []setup.Place{{Proxy: "nginx", File: nginx}, {Proxy: "nginx", File: nginx + ".missing"}, {Proxy: "caddy", File: nginx + ".caddy"}})
		var all []string
		for _, f := range x.findings {
			if f.Severity != fine {
				all = append(all, f.Severity.String()+" "+f.Text)
			}
		}
		return strings.Join(all, "\n")
	}
	want := func(texts ...string) {
		t.Helper()
		got := found()
		for _, text := range texts {
			if !strings.Contains(got, text) {
				t.Errorf("%q is not in\n%s", text, got)
			}
		}
		if len(texts) == 0 && got != "" {
			t.Errorf("found\n%s", got)
		}
	}
	want()
	c.Enforce.Names = &config.NamesFolder{Folder: folder}
	must(os.WriteFile(nginx, []byte("http { open_file_cache max=9; server { if (-f "+folder+"/$edgeguard_name) { return 429; } } }"), 0o644))
	want("doubt "+folder+" does not exist", "no list has holds: wide", "open_file_cache keeps a block")
	c.Enforce.Files = []config.ListFile{{Wide: true}}
	must(os.Mkdir(folder, 0o750))
	must(os.WriteFile(nginx, []byte("http { server { } }"), 0o644))
	want("wrong a proxy of another user finds no name behind "+folder, "no configuration of nginx or Caddy that was read looks into it")
	must(os.WriteFile(nginx, []byte("http { server { } server { if (-f "+folder+"/$edgeguard_name) { return 429; } } }"), 0o644))
	want("nothing is refused by the server blocks at " + nginx + ":1")
	must(os.Chmod(folder, 0o755))
	must(os.WriteFile(nginx, []byte("http { server { if (-f "+folder+"/$edgeguard_name) { return 429; } } }"), 0o644))
	want()
	must(os.Rename(nginx, nginx+".other"))
	must(os.WriteFile(nginx+".caddy", []byte(":80 {\n@edgeguard file {\nroot "+folder+"/\ntry_files /{edgeguard_name}\n}\nrespond @edgeguard 429\n}\n"), 0o644))
	c.Enforce.Files = nil
	want()
	c.Enforce.Names.Folder = filepath.Join(dir, "away/names")
	want("wrong ")
}

// What a killed install has left is found beside the config, once for each snippet.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	if got := interrupted(filepath.Join(dir, "edgeguard.yaml")); len(got) != 0 {
		t.Error(got)
	}
	left := filepath.Join(dir, "originals", "nginx-names")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "unfinished.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := interrupted(filepath.Join(dir, "edgeguard.yaml")); len(got) != 1 || got[0].Severity != wrong || got[0].About != "snippets nginx-names" {
		t.Error(got)
	}
}
