package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard/config"
)

// FuzzParse holds that nothing panics, that a file is either refused with a
// reason or read, and that what is read prints as a file that means the same.
func FuzzParse(f *testing.F) {
	addSeeds(f)
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

// addSeeds adds the configs of testdata and some of a line.
func addSeeds(f *testing.F) {
	f.Helper()
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
}

// FuzzPiece holds that a text says as a piece what it says as a file, or has the same problems
// at the same lines.
func FuzzPiece(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip("longer files say no more")
		}
		alone, errAlone := config.Parse("f", data)
		joined, err := config.ParsePieces([]byte("# a file\nlog: {format: json}\n"), data)
		var wrong, wrongAlone *config.Errors
		if errors.As(err, &wrong); strings.Contains(fmt.Sprint(err), "m:2:") {
			t.Skip("both have a log")
		}
		if errors.As(errAlone, &wrongAlone) && strings.Contains(errAlone.Error(), "has no key") {
			t.Skip("an empty piece is none")
		}
		if diff := cmp.Diff(wrongAlone, wrong); diff != "" {
			t.Fatal(diff)
		}
		if err == nil {
			if alone.Log.JSON = true; alone.YAML() != joined.YAML() {
				t.Error(cmp.Diff(alone.YAML(), joined.YAML()))
			}
		}
	})
}
