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
	"slices"
	"strconv"
	"strings"
)

// module is the path under which the packages of this checkout import each
// other.
const module = "edgeguard"

// house is what was measured.
type house struct {
	packages  map[string]*pkg // product packages by folder
	files     []int           // lines of each product file
	functions []int           // lines of each product function
	product   int             // lines of product code
	tests     int             // lines of tests
	// methods and fields are those of the node's type, which holds all together.
	methods, fields int
}

// pkg is one product package.
type pkg struct {
	lines, files, tests int
	imports             map[string]bool // folders of ours
}

// nodeFolder and nodeType say where the type is that wires a node.
const (
	nodeFolder = "node"
	nodeType   = "Node"
)

// isProduct reports whether a folder holds what users run: not the programs
// that measure it, and not what only tests and the house use.
func isProduct(folder string) bool {
	room, _, _ := strings.Cut(folder, "/")
	return room != "loadtest" && room != "internal"
}

// read measures the checkout at root.
func read(root string) (*house, error) {
	h := &house{packages: make(map[string]*pkg)}
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
	if strings.HasSuffix(name, "_test.go") {
		h.tests += lines
		if isProduct(folder) {
			h.pkg(folder).tests += lines
		}
		return nil
	}
	if !isProduct(folder) {
		return nil
	}
	h.product += lines
	h.files = append(h.files, lines)
	p := h.pkg(folder)
	p.lines += lines
	p.files++
	return h.parse(p, name, text)
}

func (h *house) pkg(folder string) *pkg {
	p := h.packages[folder]
	if p == nil {
		p = &pkg{imports: make(map[string]bool)}
		h.packages[folder] = p
	}
	return p
}

// parse notes a file's imports and functions.
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
		} else if folder, ours := strings.CutPrefix(imported, module+"/"); ours {
			p.imports[folder] = true
		}
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			h.functions = append(h.functions, fset.Position(fn.End()).Line-fset.Position(fn.Pos()).Line+1)
		}
		if path.Dir(name) == nodeFolder {
			h.node(d)
		}
	}
	return nil
}

// node counts the methods and fields of the node's type.
func (h *house) node(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && receiver(d.Recv.List[0].Type) == nodeType {
			h.methods++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok || t.Name.Name != nodeType {
				continue
			}
			if s, ok := t.Type.(*ast.StructType); ok {
				h.fields += s.Fields.NumFields()
			}
		}
	}
}

func receiver(t ast.Expr) string {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	name, _ := t.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// rooms returns the lines of each top folder with product code, and which of the
// others it imports: an arrow each.
func (h *house) rooms() (lines map[string]int, to map[string]map[string]bool) {
	room := func(folder string) string {
		top, _, _ := strings.Cut(folder, "/")
		return top
	}
	lines, to = make(map[string]int), make(map[string]map[string]bool)
	for folder, p := range h.packages {
		from := room(folder)
		lines[from] += p.lines
		for imported := range p.imports {
			if other := room(imported); other != from && isProduct(imported) {
				if to[from] == nil {
					to[from] = make(map[string]bool)
				}
				to[from][other] = true
			}
		}
	}
	return lines, to
}

// count returns how many rooms and arrows there are, and how many pairs of rooms
// import each other.
func (h *house) count() (rooms, arrows, circles int) {
	lines, to := h.rooms()
	for from, others := range to {
		arrows += len(others)
		for other := range others {
			if from < other && to[other][from] {
				circles++
			}
		}
	}
	return len(lines), arrows, circles
}

// quantile returns the p-th part of the values in order: 0.5 for the median.
func quantile(values []int, p float64) int {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(p*float64(len(sorted)-1))]
}
