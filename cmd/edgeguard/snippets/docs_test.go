package snippets

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// packaged are the values of the config as packaged.
func packaged(name string) Values {
	if name == "nginx" || name == "caddy" {
		return Values{Auth: "unix:/run/edgeguard/auth.sock"}
	}
	return Values{}
}

// docs/recipes.md has the commands that install each snippet, under its heading. Those
// that check it and take it out are printed.
func TestDocs(t *testing.T) {
	const page = "../../../docs/recipes.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, name := range Names() {
		_, section, found := strings.Cut(got, "\n## "+name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		_, block, isBlock := strings.Cut(section, "```sh\n")
		block, _, closed := strings.Cut(block, "```\n")
		if !found || !isBlock || !closed {
			t.Errorf("%s has no section, or no commands in it", name)
			continue
		}
		want, err := Text(name, "install", packaged(name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, block); diff != "" && !*update {
			t.Errorf("%s: %s", name, diff)
		}
		got = strings.Replace(got, section, strings.Replace(section, block, want, 1), 1)
	}
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The printed lines of edgeguard.yaml are YAML, and so is the packaged config with them.
func TestConfigParts(t *testing.T) {
	for _, name := range Names() {
		parts, err := Parts(name, Values{State: "/var/lib/eg with spaces"})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			var tree map[string]any
			if p.Name != "config" {
				continue
			}
			if err := yaml.Unmarshal([]byte(p.Text), &tree); err != nil || len(tree) == 0 {
				t.Errorf("%s: %v: %s", name, err, p.Text)
			}
		}
	}
}

// Every unit that a snippet prints is one that systemd reads, edgeguard's own has few
// rights with any drop-in, and the services that load lists have not many.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: scripts/need systemd-analyze:systemd")
	}
	own, err := os.ReadFile("../../../packaging/edgeguard.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "edgeguard.service"), string(own))
			parts, err := Parts(name, Values{})
			if err != nil {
				t.Fatal(err)
			}
			units := map[string]string{"edgeguard.service": "15"}
			if name == "nftables" || name == "packet" {
				units["edgeguard.service"] = "18" // with CAP_NET_ADMIN or CAP_NET_RAW
			}
			for _, p := range parts {
				folder, file := filepath.Split(p.Path)
				folder, ok := strings.CutPrefix(folder, "/etc/systemd/system/")
				if !ok {
					continue
				}
				write(t, filepath.Join(dir, folder, file), p.Text)
				if strings.HasSuffix(file, ".service") {
					units[file] = "25"
				}
				if strings.HasSuffix(file, ".path") {
					analyze(t, dir, "verify", "--man=no", "--recursive-errors=no", "./"+file)
				}
			}
			for file, most := range units {
				analyze(t, dir, "security", "--offline=true", "--no-pager", "--threshold="+most, "./"+file)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func analyze(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("systemd-analyze", args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), "Unknown") {
		t.Errorf("%v: %v: %s", args, err, out)
	}
}
