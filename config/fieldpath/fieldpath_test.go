package fieldpath_test

import (
	"testing"

	"edgeguard/config/fieldpath"
)

func TestPaths(t *testing.T) {
	path := fieldpath.Join(fieldpath.Item(fieldpath.Join("", "rules"), 1), "match")
	if path != "rules[1].match" {
		t.Error(path)
	}
	for _, want := range []string{"rules[1]", "rules"} {
		parent, ok := fieldpath.Parent(path)
		if !ok || parent != want {
			t.Errorf("%s is in %q, %v", path, parent, ok)
		}
		path = parent
	}
	if parent, ok := fieldpath.Parent(path); ok {
		t.Errorf("%s is in %q", path, parent)
	}
}

// The only item of a list may be written without the list, so both have one text.
func TestText(t *testing.T) {
	for path, want := range map[string]string{"allowlist[0]": "allowlist", "listen.auth[0].trust[1]": "listen.auth.trust[1]", "state": "state"} {
		if got := fieldpath.Text(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}
