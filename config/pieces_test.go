//go:build unix

package config_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard/config"
)

// writeWhole writes a config and its pieces, and returns where the config is.
func writeWhole(t *testing.T, main string, pieces map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edgeguard.yaml")
	for _, name := range append(slices.Collect(maps.Keys(pieces)), "") {
		file, text := filepath.Join(filepath.Dir(path), "conf.d", name), pieces[name]
		if name == "" {
			file, text = path, main
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// refusal returns what is wrong with a config, its folder left out.
func refusal(t *testing.T, path string) string {
	t.Helper()
	_, err := config.Load(path)
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "")
}

// What the pieces of a config say together, one file says.
func TestPiecesAreOneConfig(t *testing.T) {
	for _, c := range []struct {
		name, main string
		pieces     map[string]string
		whole      string
	}{
		{"mappings join", "enforce:\n  files: [{file: /run/a, format: plain}]\n",
			map[string]string{"a.yaml": "enforce: {haproxy: {socket: /run/h, acl: /run/b}}\n"},
			"enforce: {files: [{file: /run/a, format: plain}], haproxy: {socket: /run/h, acl: /run/b}}\n"},
		{"lists append in the order of names", "allowlist: [192.0.2.1]\n",
			map[string]string{"b.yaml": "allowlist: [192.0.2.3]\n", "a.yaml": "allowlist: 192.0.2.2\n"},
			"allowlist: [192.0.2.1, 192.0.2.2, 192.0.2.3]\n"},
		{"one value is a list of it", "presets: web\nlisten: {auth: '127.0.0.1:1'}\nsensors: {accesslog: {file: /a}}\n",
			map[string]string{"a.yaml": "presets: login\nlisten: {auth: {address: '127.0.0.1:2'}}\nsensors: {accesslog: {file: /b}}\n"},
			"presets: [web, login]\nlisten: {auth: ['127.0.0.1:1', '127.0.0.1:2']}\nsensors: {accesslog: [{file: /a}, {file: /b}]}\n"},
		{"a section of the piece alone", "node: a\n", map[string]string{"a.yaml": "listen: {admin: ['127.0.0.1:5']}\n"},
			"node: a\nlisten: {admin: ['127.0.0.1:5']}\n"},
		{"rules", "node: a\nrules: [{name: x, threshold: 5}]\n", map[string]string{"a.yaml": "rules: [{name: y, threshold: 6}]\n"},
			"node: a\nrules: [{name: x, threshold: 5}, {name: y, threshold: 6}]\n"},
		{"empty pieces", "node: a\n", map[string]string{"a.yaml": "", "b.yaml": "# nothing\n", "c.yaml": "---\n", "d.yaml": "{}\n"}, "node: a\n"},
		{"files that are no pieces", "node: a\n",
			map[string]string{".a.yaml": "node: b", "a.yaml~": "node: b", "a.yaml.dpkg-new": "node: b", "README": "node: b", "a.yaml.bak": "node: b"}, "node: a\n"},
		{"anchors are a file's own", "allowlist: [&x 192.0.2.1, *x]\n", map[string]string{"a.yaml": "protected: [&x 192.0.2.2, *x]\n"},
			"allowlist: [192.0.2.1, 192.0.2.1]\nprotected: [192.0.2.2, 192.0.2.2]\n"},
		{"anchors of a file whose lines end in a carriage return alone", "node: a\rroll_up: true\rallowlist: [&x 192.0.2.1]\rprotected: [*x]\r", map[string]string{"a.yaml": "clients: [&x 10.0.0.0/8]\n"},
			"node: a\nroll_up: true\nallowlist: [192.0.2.1]\nprotected: [192.0.2.1]\nclients: [10.0.0.0/8]\n"},
		{"variables", "allowlist: ['${EG_A}']\n", map[string]string{"a.yaml": "allowlist: ['${EG_B}']\n"}, "allowlist: ['${EG_A}', '${EG_B}']\n"},
		{"a piece with a mark of its encoding", "node: a\n", map[string]string{"a.yaml": "\ufeffroll_up: true\n"}, "node: a\nroll_up: true\n"},
	} {
		t.Setenv("EG_A", "192.0.2.1")
		t.Setenv("EG_B", "192.0.2.2")
		want, err := config.Parse("whole", []byte(c.whole))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := config.Load(writeWhole(t, c.main, c.pieces))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(want.YAML(), got.YAML()); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// What is wrong between files names both, and what is wrong in one its own line.
func TestPiecesProblems(t *testing.T) {
	for _, c := range []struct{ name, main, piece, want string }{
		{"a scalar twice", "node: a\nmode: monitor\n", "\n\nmode: enforce\n",
			"conf.d/a.yaml:3:7: mode: is given twice, first at edgeguard.yaml:2:7; remove one of them"},
		{"the same scalar twice", "mode: monitor\n", "mode: monitor\n",
			"conf.d/a.yaml:1:7: mode: is given twice, first at edgeguard.yaml:1:7; remove one of them"},
		{"a number twice", "samples: 1\n", "samples: 2\n", "conf.d/a.yaml:1:10: samples: is given twice, first at edgeguard.yaml:1:10; remove one of them"},
		{"a truth twice", "roll_up: true\n", "roll_up: false\n", "conf.d/a.yaml:1:10: roll_up: is given twice, first at edgeguard.yaml:1:10; remove one of them"},
		{"a time twice", "keep_events_for: 2h\n", "keep_events_for: 2h\n",
			"conf.d/a.yaml:1:18: keep_events_for: is given twice, first at edgeguard.yaml:1:18; remove one of them"},
		{"a scalar within", "enforce: {haproxy: {socket: /a, acl: /b}}\n", "enforce:\n  haproxy:\n    acl: /c\n",
			"conf.d/a.yaml:3:10: enforce.haproxy.acl: is given twice, first at edgeguard.yaml:1:38; remove one of them"},
		{"twice in one piece", "node: a\n", "# x\nroll_up: true\nroll_up: true\n",
			"conf.d/a.yaml:3:1: roll_up: is given twice, first on line 2; remove one of them"},
		{"one Redis in each", "fleet: {redis: 'redis://a', namespace: x}\n", "fleet: {redis: 'redis://b'}\n",
			"conf.d/a.yaml:1:16: fleet.redis: is given twice, first at edgeguard.yaml:1:16; remove one of them"},
		{"a mapping and a text", "log: {format: text}\n", "log: json\n",
			"conf.d/a.yaml:1:6: log: expected a mapping of fields, got the text \"json\"; write a mapping of fields"},
		{"no value", "allowlist: [192.0.2.1]\n", "allowlist:\n", "conf.d/a.yaml:1:1: allowlist: expected a list, got nothing; give it a value, or remove it"},
		{"an address twice", "listen: {admin: ['127.0.0.1:1']}\n", "listen:\n  auth:\n  - 127.0.0.1:1\n",
			"conf.d/a.yaml:3:5: listen.auth[0]: 127.0.0.1:1 is already in use by listen.admin[0], first at edgeguard.yaml:1:18; give each its own address"},
		{"a rule twice", "rules: [{name: x, threshold: 5}]\n", "# x\nrules: [{name: x, threshold: 5}]\n",
			"conf.d/a.yaml:2:16: rules[1].name: rule 1 already has the name \"x\", first at edgeguard.yaml:1:16; rename one of them"},
		{"a preset twice", "presets: [web]\n", "presets: [web]\n",
			"conf.d/a.yaml:1:11: presets[1]: the preset web is used twice, first at edgeguard.yaml:1:11; remove one of them"},
		{"a log twice", "sensors: {accesslog: [{file: /a}]}\n", "sensors: {accesslog: [{file: /a}]}\n",
			"conf.d/a.yaml:1:23: sensors.accesslog[1]: \"/a\" is already followed, first at edgeguard.yaml:1:30; remove one of them"},
		{"a list twice", "enforce: {files: [{file: /a, format: plain}]}\n", "enforce: {files: [{file: /a, format: plain}]}\n",
			"conf.d/a.yaml:1:26: enforce.files[1].file: is already written by another list, first at edgeguard.yaml:1:26; give each its own file"},
		{"an unknown field", "node: a\n", "\ncolour: red\n", "conf.d/a.yaml:2:1: colour: unknown field; remove it"},
		{"no YAML", "node: a\n", "a: [1\nb: 2\n", "conf.d/a.yaml:2:1: not YAML"},
		{"a tab", "node: a\n", "rules:\n\t- name: a\n", "conf.d/a.yaml:2:1: not YAML: a tab indents this line"},
		{"no UTF-8", "node: a\n", "state: /a\nb: \xff\n", "conf.d/a.yaml:2:1: is not UTF-8 text"},
		{"two documents", "node: a\n", "state: /a\n---\nb: c\n", "conf.d/a.yaml:3:1: a second document begins"},
		{"a list for a mapping", "node: a\n", "- a\n", "conf.d/a.yaml:1:1: expected a mapping"},
		{"many fields", "node: a\n", strings.Repeat("a: b\n", 10_001), "conf.d/a.yaml: has too many values"},
		{"deep", "node: a\n", strings.Repeat("[", 40), "conf.d/a.yaml:1:33: is nested too deeply"},
		{"large", "node: a\n", strings.Repeat(" ", 1<<20+1), "conf.d/a.yaml: cannot be read: "},
		{"another's anchor", "allowlist: [&x 192.0.2.1]\n", "protected: [*x]\n", "conf.d/a.yaml:1:13: protected[0]: the alias \"x\" has no anchor"},
		{"nothing but a piece", "", "node: a\n", "edgeguard.yaml: has no key: it is empty or was cut short"},
		{"lines that end in a carriage return alone", "node: a\rroll_up: true\rcolour: red\r", "samples: 1\n", "edgeguard.yaml:3:1: colour: unknown field"},
		{"in the config", "node: a\ncolour: red\n", "roll_up: true\n", "edgeguard.yaml:2:1: colour: unknown field"},
		{"behind a condition's text", "node: a\n", "rules:\n- {name: x, threshold: 5, when: 'a >'}\n", "conf.d/a.yaml:2:"},
	} {
		if got := refusal(t, writeWhole(t, c.main, map[string]string{"a.yaml": c.piece})); !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// A piece that cannot be read is an error, and so is a folder.
func TestPiecesUnreadable(t *testing.T) {
	for name, change := range map[string]func(folder string) error{
		"conf.d/a.yaml: cannot be read: conf.d/a.yaml is not a file": func(f string) error { return os.Mkdir(f+"/a.yaml", 0o755) },
		"conf.d/b.yaml: cannot be read: conf.d/b.yaml is not a file": func(f string) error { return syscall.Mkfifo(f+"/b.yaml", 0o644) },
		"conf.d/c.yaml: cannot be read: stat conf.d/c.yaml: no such": func(f string) error { return os.Symlink("gone", f+"/c.yaml") },
		"conf.d: cannot be read: open conf.d: not a directory": func(f string) error {
			if err := os.Remove(f); err != nil {
				return err
			}
			return os.WriteFile(f, nil, 0o644)
		},
		"conf.d: has 101 pieces; keep at most 100": func(f string) (err error) {
			for i := range 101 {
				err = os.WriteFile(fmt.Sprintf("%s/%d.yaml", f, i), nil, 0o644)
			}
			return err
		},
		"conf.d: has more than 1048576 bytes": func(f string) (err error) {
			for i := range 2 {
				err = os.WriteFile(fmt.Sprintf("%s/%d.yaml", f, i), []byte("#"+strings.Repeat(" ", 1<<19)), 0o644)
			}
			return err
		},
	} {
		path := writeWhole(t, "node: a\n", nil)
		folder := filepath.Join(filepath.Dir(path), "conf.d")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := change(folder); err != nil {
			t.Fatal(err)
		}
		if got := refusal(t, path); !strings.HasPrefix(got, name) {
			t.Errorf("%s, want %s", got, name)
		}
	}
}

// A link to a piece is one: configs that are mounted are links.
func TestPiecesByLink(t *testing.T) {
	path := writeWhole(t, "node: a\n", map[string]string{"x": "roll_up: true\n"})
	if err := os.Symlink("x", filepath.Join(filepath.Dir(path), "conf.d", "x.yaml")); err != nil {
		t.Fatal(err)
	}
	if c, err := config.Load(path); err != nil || !c.RollUp {
		t.Errorf("%v", err)
	}
}

// What every user may write is told, and so is a name that is nearly a piece's.
func TestPiecesWarn(t *testing.T) {
	path := writeWhole(t, "node: a\n", map[string]string{"a.yaml": "roll_up: true\n", "b.yml": "node: b\n"})
	folder := filepath.Join(filepath.Dir(path), "conf.d")
	for name, mode := range map[string]os.FileMode{path: 0o646, folder: 0o757, folder + "/a.yaml": 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings {
		if text := strings.ReplaceAll(w.String(), filepath.Dir(path)+"/", ""); strings.Contains(w.Text, "every user") || strings.Contains(w.Text, "not read") {
			got = append(got, text)
		}
	}
	want := []string{
		"conf.d/b.yml: is not read; give it a name that ends in .yaml",
		"conf.d: every user of this host may write it (mode 0757); run `chmod o-w conf.d`",
		"conf.d/a.yaml: every user of this host may write it (mode 0666); run `chmod o-w conf.d/a.yaml`",
		"edgeguard.yaml: every user of this host may write it (mode 0646); run `chmod o-w edgeguard.yaml`",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// In a folder of all, such as /tmp, another user's piece would run commands as whoever
// reads the config.
func TestPiecesOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	path := writeWhole(t, "node: a\n", map[string]string{"a.yaml": "roll_up: true\n"})
	folder := filepath.Join(filepath.Dir(path), "conf.d")
	if err := os.Chown(folder, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path); err != nil {
		t.Errorf("who owns the folder of both may do so: %v", err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if got := refusal(t, path); !strings.HasPrefix(got, "conf.d: user 12345 put it into a folder that every user may write") {
		t.Errorf("a folder of another user in a folder of all: %s", got)
	}
	if err := os.WriteFile(folder+"/b.yaml", []byte("listen: {admin: ['127.0.0.1:2']}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if l, given, err := config.LoadListen(path); given || err != nil {
		t.Errorf("another user says where a command goes to: %+v, %v", l.Admin, err)
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path); err != nil {
		t.Errorf("the config is the same user's: %v", err)
	}
}

// Which file a setting is from.
func TestPiecesSay(t *testing.T) {
	c, err := config.Load(writeWhole(t, "sensors: {accesslog: [{file: /a}]}\n", map[string]string{
		"a.yaml": "sensors: {accesslog: [{file: /b}]}\nlisten: {auth: ['127.0.0.1:1']}\n", "b.yaml": "",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Pieces {
		got = append(got, filepath.Base(p.File)+": "+strings.Join(p.Sets, ", "))
	}
	if diff := cmp.Diff([]string{"a.yaml: sensors.accesslog[1], listen", "b.yaml: "}, got); diff != "" {
		t.Error(diff)
	}
	for path, in := range map[string]string{"sensors.accesslog[1].file": "a.yaml: ", "listen.auth[0]": "a.yaml: ", "sensors.accesslog[10]": "", "sensors.accesslog[0]": "", "listener": ""} {
		if got := c.Located(path); filepath.Base(got) != in+path {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// Where a command goes to is read from the pieces, too, while a section of them has errors.
func TestLoadListen(t *testing.T) {
	path := writeWhole(t, "listen:\n  admin: ['127.0.0.1:1']\nnode: {}\n", map[string]string{
		"a.yaml": "colour: red\nlisten:\n  admin: ['127.0.0.1:2']\n", "b.yaml": "[", "c.yaml": "roll_up: true\n",
	})
	if l, given, err := config.LoadListen(path); err != nil || !given || len(l.Admin) != 2 {
		t.Errorf("%+v, %v, %v", l.Admin, given, err)
	}
	if _, given, err := config.LoadListen(writeWhole(t, "node: {}\n", nil)); given || err != nil {
		t.Errorf("%v, %v", given, err)
	}
}
