package mutanttest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Point is a place in the code and a mistake that can be made there.
type Point struct {
	Folder, Func string // of a method with its type: "Ring.Add"
	// Nth counts the places in the function at which Text can become Mistake.
	Nth           int
	Text, Mistake string // without line breaks

	file     string
	from, to int // of what is replaced
	with     string
}

func (p *Point) String() string {
	return fmt.Sprintf("%s %s %d: %s => %s", p.Folder, p.Func, p.Nth, p.Text, p.Mistake)
}

// Points returns all places of a package.
func Points(root, folder string) ([]Point, error) {
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var points []Point
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, source, 0)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				points = append(points, inFunc(f, Point{Folder: folder, Func: funcName(f), file: file}, set, source)...)
			}
		}
	}
	return points, nil
}

// Drawn returns the points in an order that a seed decides, wherever they are in a file.
func Drawn(points []Point, seed string) []Point {
	rank := func(p Point) []byte {
		sum := sha256.Sum256([]byte(seed + "\n" + p.String()))
		return sum[:]
	}
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return bytes.Compare(rank(a), rank(b)) })
	return points
}

// Mutated returns the file with the mistake made, and its path.
func (p *Point) Mutated() (string, []byte, error) {
	source, err := os.ReadFile(p.file)
	if err != nil {
		return "", nil, err
	}
	return p.file, slices.Concat(source[:p.from], []byte(p.with), source[p.to:]), nil
}

func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

var mistakes = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.AND: token.OR, token.SHL: token.SHR, token.SHR: token.SHL,
}

var otherNames = map[string]string{"min": "max", "max": "min", "true": "false", "false": "true"}

// inFunc finds the places of a function: comparisons, sums and connectives become another,
// min becomes max, true false, and a statement is left out.
func inFunc(f *ast.FuncDecl, of Point, set *token.FileSet, source []byte) []Point {
	var points []Point
	seen := map[string]int{}
	add := func(whole ast.Node, from, to token.Pos, with string) {
		at := func(p token.Pos) int { return set.Position(p).Offset }
		p := of
		p.from, p.to, p.with = at(from), at(to), with
		start, end := at(whole.Pos()), at(whole.End())
		p.Text = oneLine(source[start:end])
		p.Mistake = oneLine(slices.Concat(source[start:p.from], []byte(with), source[p.to:end]))
		p.Nth = seen[p.Text+"\n"+p.Mistake]
		seen[p.Text+"\n"+p.Mistake]++
		points = append(points, p)
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if other, ok := mistakes[n.Op]; ok {
				add(n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
			}
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && otherNames[name.Name] != "" {
				add(n, name.Pos(), name.End(), otherNames[name.Name])
			}
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if name, ok := result.(*ast.Ident); ok && otherNames[name.Name] != "" {
					add(n, name.Pos(), name.End(), otherNames[name.Name])
				}
			}
		case *ast.ExprStmt, *ast.IncDecStmt:
			add(n, n.Pos(), n.End(), "{}")
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				add(n, n.Pos(), n.End(), "{}")
			}
		}
		return true
	})
	return points
}

func oneLine(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }
