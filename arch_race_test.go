package edgeguard_test

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOneGoroutine holds that what `make race` leaves out for having one goroutine has
// one: neither the package, nor what it or its tests import of ours, nor its tests start
// another.
func TestOneGoroutine(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^ONE_GOROUTINE := (.+)$`).FindSubmatch(makefile)
	if named == nil {
		t.Fatal("the Makefile has no ONE_GOROUTINE")
	}
	for _, folder := range strings.Fields(string(named[1])) {
		oneGoroutine(t, []string{folder}, map[string]bool{})
	}
}

// oneGoroutine looks at the files of a folder, and at those of what they import but for
// tests. Way leads to it, from what the Makefile names; a folder that was seen is not read again.
func oneGoroutine(t *testing.T, way []string, seen map[string]bool) {
	t.Helper()
	folder := way[len(way)-1]
	seen[folder] = true
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") && len(way) > 1 {
			continue
		}
		s, err := parse(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if startsGoroutine(n) {
				t.Errorf("%s starts a goroutine: take %s off ONE_GOROUTINE in the Makefile (%s)", s.fset.Position(n.Pos()), way[0], strings.Join(way, " imports "))
			}
			return true
		})
		for _, spec := range s.Imports {
			if to, isOurs := ourFolder(spec); isOurs && !seen[to] {
				oneGoroutine(t, append(slices.Clone(way), to), seen)
			}
		}
	}
}

// TestOneGoroutineTests holds the same for a test that fulltest.Only leaves out of `make race`.
func TestOneGoroutineTests(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		s, err := parse(file, nil)
		if err != nil {
			return err
		}
		for _, decl := range s.Decls {
			only, starts := false, false
			ast.Inspect(decl, func(n ast.Node) bool {
				call, isCall := n.(*ast.SelectorExpr)
				only, starts = only || isCall && isOnly(call), starts || startsGoroutine(n)
				return true
			})
			if only {
				found++
			}
			if only && starts {
				t.Errorf("%s starts a goroutine: race it, without fulltest.Only", s.fset.Position(decl.Pos()))
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Fatal(found, err)
	}
}

func isOnly(call *ast.SelectorExpr) bool {
	x, ok := call.X.(*ast.Ident)
	return ok && x.Name == "fulltest" && call.Sel.Name == "Only"
}

// starters are the functions and methods that call what they are given in another goroutine.
var starters = []string{"Go", "AfterFunc", "Parallel", "RunParallel", "NewServer", "NewTLSServer", "NewUnstartedServer", "Serve", "ListenAndServe", "Notify"}

func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.SelectorExpr:
		return slices.Contains(starters, n.Sel.Name)
	}
	return false
}
