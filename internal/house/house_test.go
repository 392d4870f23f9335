package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"word.go":             "package edgeguard\n\ntype Word struct{ A, B int }\n\nfunc (Word) String() string { return \"\" }\n",
		"ring/ring.go":        "package ring\n\nimport \"edgeguard\"\n\nvar X, y edgeguard.Word\n",
		"ring/ring_test.go":   "package ring\n",
		"node/deep/deep.go":   "package deep\n\nimport \"edgeguard/ring\"\n\nfunc New() { _ = ring.X }\n",
		"loadtest/gen/gen.go": "package main\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	h.print(&out)
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"product: 15 lines, 3 packages, 3 rooms; all tests: 1 lines",
		"node 5 1 ring ring 5 1 .",
		". 5 1 1 1 0 1 0 node/deep 5 1 1 0 1 3 0 ring 5 1 1 1 1 2 1",
		"most methods of a type Word 1",
		"most fields of a type Word 2",
		"3 packages: node/deep > ring > .",
		"without a test of their own, 2: ., node/deep",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("does not print %q:\n%s", want, out.String())
		}
	}
}
