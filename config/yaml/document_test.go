package yaml_test

import (
	"strings"
	"testing"

	"edgeguard/config/yaml"
)

// TestDocumentRefused has the texts that cannot be read, and where each is wrong.
func TestDocumentRefused(t *testing.T) {
	for _, c := range []struct {
		name, text, says, fix string
		line, column          int
	}{
		{"tab as indent", "rules:\n\t- name: a\n", "a tab indents this line", "use spaces", 2, 1},
		{"tab after spaces", "listen:\n  auth:\n  \t- a\n", "a tab indents this line", "use spaces", 3, 3},
		{"bracket", "a: [1\nb: 2\n", "not YAML", "fix this first", 2, 1},
		{"not UTF-8", "node: a\nstate: \xff\n", "UTF-8", "UTF-8", 2, 1},
		{"two documents", "a: b\n---\nc: d\n", "second document", "without ---", 3, 1},
		{"deep", strings.Repeat("[", yaml.MaxNesting+1), "nested too deeply", "at most 32", 1, 33},
		{"many fields", strings.Repeat("a: b\n", 10_001), "too many values", "10000", 0, 0},
		{"large", strings.Repeat(" ", yaml.MaxFile+1), "is larger than", "smaller", 0, 0},
	} {
		_, p := yaml.ParseDocument([]byte(c.text))
		if p == nil || !strings.Contains(p.Text, c.says) || !strings.Contains(p.Fix, c.fix) || p.Line != c.line || p.Column != c.column {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// TestDocumentTabs: a tab that indents nothing is no mistake.
func TestDocumentTabs(t *testing.T) {
	for _, text := range []string{"a: 'b\tc'\n", "a:\tb\n", "a: b\t# c\n"} {
		if tree, p := yaml.ParseDocument([]byte(text)); p != nil || tree.Body == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

func TestParseDocument(t *testing.T) {
	if tree, p := yaml.ParseDocument(nil); p != nil || tree.Body != nil {
		t.Errorf("an empty text: %+v, %+v", tree, p)
	}
	tree, p := yaml.ParseDocument([]byte("a: &x [1]\nb: *x\n"))
	if p != nil || tree.Body == nil || tree.Anchors["x"] == nil {
		t.Errorf("%+v, %+v", tree, p)
	}
	if line, column := yaml.Place(tree.Body); line != 1 || column != 1 {
		t.Errorf("begins at %d:%d", line, column)
	}
}
