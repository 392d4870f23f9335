package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// module is the path under which the packages of this checkout import each
// other.
const module = "edgeguard"

// house is what was measured of the product: not the programs that measure it,
// and not what only tests use.
type house struct {
	packages  map[string]*pkg // by folder, "." is the root
	types     map[string]*typ // by folder and name
	functions []sized
	files     []sized
	tests     int // lines of all tests
}

// pkg is one package.
type pkg struct {
	lines, files, tests, exports int
	imports                      map[string]bool // folders of the product
}

// typ is one type.
type typ struct{ methods, fields int }

// sized is something with a number of lines.
type sized struct {
	name  string
	lines int
}

func isProduct(folder string) bool {
	room := roomOf(folder)
	return room != "loadtest" && room != "test" && !strings.HasSuffix(folder, "test")
}

func roomOf(folder string) string {
	room, _, _ := strings.Cut(folder, "/")
	return room
}

// read measures the checkout at root.
func read(root string) (*house, error) {
	h := &house{packages: make(map[string]*pkg), types: make(map[string]*typ)}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return h.add(filepath.ToSlash(name), file)
	})
	return h, err
}

// add measures one file, whose name from the root is name.
func (h *house) add(name, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	folder, lines := path.Dir(name), bytes.Count(text, []byte("\n"))
	isTest := strings.HasSuffix(name, "_test.go")
	if isTest {
		h.tests += lines
	}
	if !isProduct(folder) {
		return nil
	}
	p := h.packages[folder]
	if p == nil {
		p = &pkg{imports: make(map[string]bool)}
		h.packages[folder] = p
	}
	if isTest {
		p.tests += lines
		return nil
	}
	p.lines += lines
	p.files++
	h.files = append(h.files, sized{name, lines})
	return h.parse(p, name, text)
}

// parse notes a file's imports, types and functions.
func (h *house) parse(p *pkg, name string, text []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if imported == module {
			p.imports["."] = true
		} else if folder, ours := strings.CutPrefix(imported, module+"/"); ours && isProduct(folder) {
			p.imports[folder] = true
		}
	}
	folder := path.Dir(name)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			long := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1
			h.functions = append(h.functions, sized{path.Join(folder, d.Name.Name), long})
			if d.Recv != nil {
				h.typ(folder, receiver(d.Recv.List[0].Type)).methods++
			} else if d.Name.IsExported() {
				p.exports++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				p.exports += h.spec(folder, spec)
			}
		}
	}
	return nil
}

// spec notes a declared type, and returns how many names are exported.
func (h *house) spec(folder string, spec ast.Spec) (exports int) {
	var names []*ast.Ident
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		names = spec.Names
	case *ast.TypeSpec:
		names = []*ast.Ident{spec.Name}
		if s, ok := spec.Type.(*ast.StructType); ok {
			h.typ(folder, spec.Name.Name).fields = s.Fields.NumFields()
		}
	}
	for _, name := range names {
		if name.IsExported() {
			exports++
		}
	}
	return exports
}

func (h *house) typ(folder, name string) *typ {
	name = path.Join(folder, name)
	t := h.types[name]
	if t == nil {
		t = &typ{}
		h.types[name] = t
	}
	return t
}

// receiver returns the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// importers returns how many packages import a folder.
func (h *house) importers(folder string) (n int) {
	for _, p := range h.packages {
		if p.imports[folder] {
			n++
		}
	}
	return n
}

// chain returns the longest way of imports from a folder down. Known holds those
// that were found before.
func (h *house) chain(folder string, known map[string][]string) []string {
	if way, found := known[folder]; found {
		return way
	}
	var longest []string
	if p := h.packages[folder]; p != nil {
		for imported := range p.imports {
			if way := h.chain(imported, known); len(way) > len(longest) {
				longest = way
			}
		}
	}
	known[folder] = append([]string{folder}, longest...)
	return known[folder]
}
