package yaml_test

import (
	"testing"

	"edgeguard/config/yaml"
)

func TestPaths(t *testing.T) {
	path := yaml.JoinPath(yaml.ItemPath(yaml.JoinPath("", "rules"), 1), "match")
	if path != "rules[1].match" {
		t.Error(path)
	}
	for _, want := range []string{"rules[1]", "rules"} {
		parent, ok := yaml.ParentPath(path)
		if !ok || parent != want {
			t.Errorf("%s is in %q, %v", path, parent, ok)
		}
		path = parent
	}
	if parent, ok := yaml.ParentPath(path); ok {
		t.Errorf("%s is in %q", path, parent)
	}
}

// The only item of a list may be written without the list, so both have one text.
func TestPathText(t *testing.T) {
	for path, want := range map[string]string{"allowlist[0]": "allowlist", "listen.auth[0].trust[1]": "listen.auth.trust[1]", "state": "state"} {
		if got := yaml.PathText(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}
