package alarm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

// raised returns the kinds that are written in the source: the constants of kinds.go and those
// named alarm… of sensors, those of each inline.Asker, and what the fleet's link passes to Alarm.
func raised(t *testing.T) map[string]string {
	found := map[string]string{}
	walk := func(folder string, look func(file string, n ast.Node)) {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			tree, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				ast.Inspect(tree, func(n ast.Node) bool { look(path, n); return true })
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text := func(e ast.Expr) string {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, _ := strconv.Unquote(l.Value)
			return s
		}
		return ""
	}
	constants := func(prefix string) func(string, ast.Node) {
		return func(file string, n ast.Node) {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, prefix) && len(v.Values) == 1 && text(v.Values[0]) != "" {
				found[text(v.Values[0])] = file
			}
		}
	}
	walk("node/alarm/kinds.go", constants(""))
	walk("sensor", constants("alarm"))
	ends := map[string]string{} // of the kinds that an inline.Asker makes of its own
	walk("sensor/inline", func(file string, n ast.Node) {
		if b, ok := n.(*ast.BinaryExpr); ok && strings.HasPrefix(text(b.Y), "_") {
			ends[text(b.Y)] = file
		}
	})
	walk("sensor", func(_ string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "New" && text(call.Args[1]) != "" {
			for end, file := range ends {
				found[text(call.Args[1])+end] = file
			}
		}
	})
	delete(found, "spoe_untrusted_peer") // SPOE turns away whom it does not trust: spoe_stranger
	walk("aggregator", func(file string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && strings.EqualFold(f.Sel.Name, "alarm") {
			if kind := text(call.Args[0]); kind != "" && kind != Fleet {
				found[Fleet+"_"+kind] = file
			}
		}
	})
	return found
}

// TestEveryKindHasAPart: each alarm that can be raised says of which part it is, and the table
// has no other.
func TestEveryKindHasAPart(t *testing.T) {
	found := raised(t)
	for _, want := range []string{Served, "auth_no_client", "spoe_panic", "envoy_unreadable", "fleet_clock", "fleet_forged", "fleet_rejected"} {
		if found[want] == "" {
			t.Errorf("%s is not found: the test does not see what it is to see", want)
		}
	}
	for kind, file := range found {
		if _, ok := kinds[kind]; !ok {
			t.Errorf("%s: %s has no part in kinds", file, kind)
		}
	}
	for kind := range kinds {
		if found[kind] == "" {
			t.Errorf("%s has a part, and nothing raises it", kind)
		}
	}
	if part, acts := About("of_a_later_version"); part != admin.PartHost || acts {
		t.Errorf("an unknown kind is of %s, acts %t", part, acts)
	}
}

// An alarm that goes on keeps when it began, whatever its text says meanwhile.
func TestLastingSaysSince(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	alarms := New(func(edgeguard.Alarm) {}, func(string, string) {})
	alarms.Begins(begin, Log, "/a", "1 line")
	alarms.Begins(begin.Add(Every), Log, "/a", "2 lines")
	if got := alarms.Lasting(); len(got) != 1 || !got[0].Since.Equal(begin) || got[0].Text != "2 lines" || got[0].About != "/a" {
		t.Errorf("%+v", got)
	}
}
