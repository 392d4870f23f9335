package edgeguard_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestRulesFail plants what each rule forbids: a rule that cannot fail holds
// nothing.
func TestRulesFail(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("\t_ = 0\n", n) }
	for _, test := range []struct{ file, text, want string }{
		{"ring/a.go", `import "edgeguard/shard"`, "ring may not import shard"},
		{"event.go", `import "edgeguard/internal/words"`, ". may not import internal"},
		{"enforce/files/a.go", `import "edgeguard/sensor/spoe"`, "enforce may not import sensor"},
		{"aggregator/a.go", `import "edgeguard/aggregator/redis"`, "aggregator may not import aggregator/redis"},
		{"node/a.go", `import "edgeguard/replay"`, "node may not import replay"},
		{"node/b.go", `import "edgeguard/enforce/enforcetest"`, "node may not import test"},
		{"attic/a.go", ``, "attic is in no room"},
		{"shard/a.go", `import "os"`, "may not import os"},
		{"shard/b.go", `import "github.com/redis/go-redis/v9/logging"`, "no clock, no logging"},
		{"shard/c.go", `import "edgeguard/internal/smallfile"`, "internal/smallfile does I/O"},
		{"shard/d.go", `func f() { go f() }`, "starts no goroutine"},
		{"haproxy/lines.go", `var now = time.Now`, "time.Now reads the clock"},
		{"haproxy/access_linux.go", `var now = time.Now`, ""},
		{"node/checks/a.go", `import "edgeguard/admin"`, ""},
		{"shard/e.go", `import "github.com/spf13/cobra"`, "does not place here"},
		{"shard/f.go", `import "github.com/nobody/knows"`, "does not place here"},
		{"shard/g.go", `func f() { fmt.Println() }`, "prints"},
		{"node/c.go", `func f() { os.Exit(1) }`, "ends the process"},
		{"node/d.go", `func f() { slog.Info("") }`, "global logger"},
		{"node/e.go", `func f() { panic("") }`, "panics"},
		{"cmd/edgeguard/a.go", `func f() { fmt.Println() }`, ""},
		{"node/f.go", "type t struct {\n\tmu sync.Mutex\n}", "say what it guards"},
		{"node/g.go", "type t struct {\n\tmu sync.Mutex // guards all\n}", ""},
		{"node/h.go", "func f() {\n" + lines(58) + "}", ""},
		{"node/i.go", "func f() {\n" + lines(59) + "}", "f has 61 lines"},
		{"node/j.go", "var (\n" + lines(397) + ")\n", ""},
		{"node/k.go", "var (\n" + lines(398) + ")\n", "the file has 401 lines"},
	} {
		s, err := parse(test.file, "package p\n"+test.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, rule := range fileRules {
			rule(s, func(_ ast.Node, problem string) { got = append(got, problem) })
		}
		if all := strings.Join(got, "; "); !strings.Contains(all, test.want) || test.want == "" && all != "" {
			t.Errorf("%s: got %q, want %q", test.file, all, test.want)
		}
	}
}

// TestFloorsFail does so with the table.
func TestFloorsFail(t *testing.T) {
	for text, want := range map[string]string{
		"a:\nb: a":                "",
		"b: a\na:":                "b may import a, which is on no line above it",
		"a:\nb/in: a\na/in: b/in": "a and b import each other",
		"a:\nb:\nc: a b":          "c does not import b any more",
		"a:\ngone:":               "gone is not a room any more",
	} {
		imported := map[[2]string]bool{{"b", "a"}: true, {"c", "a"}: true, {"b/in", "a"}: true, {"a/in", "b/in"}: true}
		for _, room := range []string{"a", "b", "c", "a/in", "b/in"} {
			imported[[2]string{room}] = true
		}
		if got := strings.Join(badFloors(table(text), imported), "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
