package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
)

// What doctor says of a fleet's key; never what is in the file.
func TestFleetKey(t *testing.T) {
	folder, good := t.TempDir(), strings.Repeat("c7", 32)
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		fleet    *config.Fleet
		severity severity
		says     string
	}{
		"alone":    {nil, fine, ""},
		"no key":   {&config.Fleet{}, doubt, "set fleet.key_file"},
		"no file":  {&config.Fleet{KeyFile: filepath.Join(folder, "missing")}, wrong, "stays out of its fleet"},
		"bad file": {&config.Fleet{KeyFile: file("bad", good+"0\n"), RequireKey: true}, wrong, "line 1"},
		"accept":   {&config.Fleet{KeyFile: file("good", good+"\n")}, doubt, "set key_mode: require"},
		"require":  {&config.Fleet{KeyFile: file("other", good+"\n"), RequireKey: true}, fine, "only signed records"},
	} {
		x := &examination{}
		x.fleetKey(&config.Config{Fleet: c.fleet})
		if c.fleet == nil {
			if len(x.findings) > 0 {
				t.Errorf("%s: %+v", name, x.findings)
			}
			continue
		}
		if len(x.findings) != 1 || x.findings[0].Severity != c.severity || !strings.Contains(x.findings[0].Text, c.says) {
			t.Errorf("%s: %+v", name, x.findings)
		} else if strings.Contains(x.findings[0].Text, good[:16]) {
			t.Errorf("%s: it prints the key: %s", name, x.findings[0].Text)
		}
	}
}
