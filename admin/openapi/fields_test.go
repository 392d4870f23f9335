package openapi_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin/openapi"
)

var update = flag.Bool("update", false, "write fields.txt")

// Each field of the API has its sentence: in the document, which has it from the comment in
// the source, or in docs/api.md.
func TestFields(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	names, comments := openapi.Fields(), map[string]map[string]string{}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(names)) {
		at := strings.LastIndexByte(key[:strings.LastIndexByte(key, '.')], '.')
		if comments[key[:at]] == nil {
			comments[key[:at]] = commentsOf(t, key[:at])
		}
		if says := comments[key[:at]][key[at+1:]]; says != "" {
			text.WriteString(key + "\t" + says + "\n")
		} else if !regexp.MustCompile(`\b` + names[key] + `\b`).Match(page) {
			t.Errorf("%s (%s) has no comment, and docs/api.md does not name it", key, names[key])
		}
	}
	if len(names) < 500 {
		t.Errorf("only %d fields were found", len(names))
	}
	if *update {
		if err := os.WriteFile("fields.txt", []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want, err := os.ReadFile("fields.txt"); err != nil || string(want) != text.String() {
		t.Errorf("fields.txt is not what the comments say: go generate ./admin/openapi writes it (%v)", err)
	}
}

var reference = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// says returns the comment of a field, or that of another field of the struct which has
// its name: several are often explained together.
func says(name string, own *ast.Field, of *ast.StructType) string {
	text := own.Doc.Text() + " " + own.Comment.Text()
	word := regexp.MustCompile(`\b` + name + `\b`)
	for _, f := range of.Fields.List {
		if other := f.Doc.Text() + " " + f.Comment.Text(); strings.TrimSpace(text) == "" && word.MatchString(other) {
			text = other
		}
	}
	for _, f := range of.Fields.List { // as programs read their names
		for _, n := range f.Names {
			if f.Tag != nil {
				tag, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
				text = regexp.MustCompile(`\b`+n.Name+`\b`).ReplaceAllString(text, tag)
			}
		}
	}
	return strings.Join(strings.Fields(reference.ReplaceAllString(text, "$1")), " ")
}

// commentsOf returns the comments of the fields of a folder's structs, by "Type.Field".
func commentsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	folder = path.Join("../..", strings.TrimPrefix(folder, "edgeguard"))
	files, err := fs.Glob(os.DirFS(folder), "*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(folder, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			made, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range made.Fields.List {
				for _, name := range f.Names {
					found[spec.Name.Name+"."+name.Name] = says(name.Name, f, made)
				}
			}
			return true
		})
	}
	return found
}
