package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"edgeguard/config"
)

// FuzzParse holds that nothing panics, that a file is either refused with a
// reason or read, and that what is read prints as a file that means the same.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, seed := range []string{
		"", "{", "- ", "node: &a b\nstate: *a", "rules: [{name: a, threshold: 1, cost: [{match: {path: /}, cost: 2}]}]",
		"fleet: {redis: ['rediss://u@a:1/0', 'rediss://b'], share: 0.25, tls: {ca_file: /a}}", "fleet: {redis: 'unix:///a?db=1'}",
		"wide: off\nrules: [{name: a, threshold: 1, wide: strict}, {name: b, threshold: 65534, guard: 1, wide: 'off'}, {name: c, threshold: 2, wide: [report]}]",
		"rules: [{name: a, threshold: 1, count: {distinct: path}}, {name: b, threshold: 400, guard: 1, count: {distinct: host}, scope: node}]",
		"? node\n: a", "node: \"\\x41\\u00e9\"", "allowlist: ['::/0']", "a: |\n  b\n", "!!map {node: a}", "%YAML 1.2\n---\nnode: a", "node: 'it''s'",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip("longer files say no more")
		}
		c, err := config.Parse("f", data)
		if err == nil {
			readBack(t, c)
			return
		}
		if all, ok := err.(*config.Errors); !ok || len(all.Problems) == 0 {
			t.Fatalf("no reason: %v", err)
		}
	})
}
