package edgeguard_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// link is a comment's link to an exported identifier: [Name], [Type.Method],
// [pkg.Name]. A place in a text, as [PID], has no small letter.
var link = regexp.MustCompile(`\[\*?((?:\w+\.)*[A-Z]\w*[a-z]\w*)\](?:[^(:\w]|$)`)

// camel is a word that can only be an identifier, or a product's name.
var camel = regexp.MustCompile(`\b[A-Za-z]+[a-z0-9][A-Z]\w*`)

// likeOther is a comment that says what something does by naming another.
var likeOther = regexp.MustCompile(`^\w+ is ([A-Z][a-z]\w*) (?:for|without|where|with|of one|but)\b`)

// foreign are words of others' protocols that a name of ours differs from by its
// first letter alone.
var foreign = []string{"EtherType", "HeaderValue", "HttpRequest", "RemoteIP"}

// told are the identifiers of the house, for what its comments may name.
type told struct {
	words    map[string]bool            // anywhere in code
	declared map[string]map[string]bool // by a package's folder: "Name", "Type.Member"
	members  map[string]map[string]bool // the same, a member without its type
	folders  map[string][]string        // by a package's name
}

// TestComments finds comments that name what is no more.
func TestComments(t *testing.T) {
	all := house(t)
	known := tellAll(all)
	for _, s := range all {
		for _, problem := range known.wrongComments(s) {
			t.Error(problem)
		}
	}
}

// TestWrongComments shows the test what it is to find.
func TestWrongComments(t *testing.T) {
	s, err := parse("there/a.go", `package there

// Keep is no more, see [Gone], [Kept], [Kept.Size], [Kept.Gone], [there.Gone] and OneKept.
type Kept struct {
	// Size is of oneKept.
	Size int
}

// A Twin may begin so. [fmt.Gone] is not ours, [PID] no name.
type Twin int

// oneKept has its name first.
var oneKept Kept

// another is Gone for others.
func another() {}
`)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, problem := range tellAll([]source{s}).wrongComments(s) {
		_, said, _ := strings.Cut(problem, ": ")
		found = append(found, said)
	}
	want := []string{
		"the comment of Kept begins with Keep",
		"names Gone, which is nowhere", "names Kept.Gone, which is nowhere", "names there.Gone, which is nowhere",
		"names OneKept, which is oneKept", "is like Gone, which is nowhere",
	}
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// tellAll collects what comments may name.
func tellAll(all []source) told {
	known := told{words: map[string]bool{}, declared: map[string]map[string]bool{}, members: map[string]map[string]bool{}, folders: map[string][]string{}}
	for _, s := range all {
		if known.declared[s.pkg] == nil {
			known.declared[s.pkg], known.members[s.pkg] = map[string]bool{}, map[string]bool{}
			known.folders[s.Name.Name] = append(known.folders[s.Name.Name], s.pkg)
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				known.words[n.Name] = true
			case *ast.BasicLit:
				for _, word := range camel.FindAllString(n.Value, -1) {
					known.words[word] = true
				}
			}
			return true
		})
		for _, named := range namedIn(s.File) {
			known.declared[s.pkg][named.name] = true
			known.members[s.pkg][lastOf(named.name)] = true
		}
	}
	return known
}

// named is a declaration: "Name", or "Type.Member". Lines of a list and members
// have no doc here: theirs may be any sentence.
type named struct {
	name string
	doc  *ast.CommentGroup
}

// namedIn returns the package's declarations and the members of its types.
func namedIn(f *ast.File) (all []named) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiverOf(d.Recv.List[0].Type) + "." + name
			}
			all = append(all, named{name, d.Doc})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				all = append(all, namedBy(spec, d)...)
			}
		}
	}
	return all
}

// namedBy returns what one line of a declaration names.
func namedBy(spec ast.Spec, d *ast.GenDecl) (all []named) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		doc := spec.Doc
		if !d.Lparen.IsValid() {
			doc = d.Doc
		}
		all = append(all, named{spec.Name.Name, doc})
		ast.Inspect(spec.Type, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, name := range field.Names {
					all = append(all, named{spec.Name.Name + "." + name.Name, nil})
				}
			}
			return true
		})
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			one := named{name: name.Name}
			if len(spec.Names) == 1 && !d.Lparen.IsValid() {
				one.doc = d.Doc
			}
			all = append(all, one)
		}
	}
	return all
}

// lastOf returns a name without its type.
func lastOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// receiverOf returns the name of a receiver's type.
func receiverOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverOf(t.X)
	case *ast.IndexExpr:
		return receiverOf(t.X)
	case *ast.IndexListExpr:
		return receiverOf(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// wrongComments says what is wrong with a file's comments.
func (known told) wrongComments(s source) (problems []string) {
	say := func(at ast.Node, problem string) {
		problems = append(problems, s.fset.Position(at.Pos()).String()+": "+problem)
	}
	for _, one := range namedIn(s.File) {
		if first := firstWord(one.doc.Text()); first != "" && first != lastOf(one.name) {
			say(one.doc, "the comment of "+one.name+" begins with "+first)
		}
	}
	for _, group := range s.Comments {
		text := group.Text()
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if !known.has(s, found[1]) {
				say(group, "names "+found[1]+", which is nowhere")
			}
		}
		if found := likeOther.FindStringSubmatch(strings.ReplaceAll(text, "\n", " ")); found != nil && !known.members[s.pkg][found[1]] {
			say(group, "is like "+found[1]+", which is nowhere")
		}
		for _, word := range camel.FindAllString(text, -1) {
			if twin := otherCase(word); !known.words[word] && known.words[twin] && !slices.Contains(foreign, word) {
				say(group, "names "+word+", which is "+twin)
			}
		}
	}
	return problems
}

// firstWord returns the first word of a comment that should be a name, "" if it
// begins with an article.
func firstWord(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if first == "A" || first == "An" || first == "The" {
		return ""
	}
	first, _, _ = strings.Cut(first, "\n")
	return strings.TrimRight(first, ",:.")
}

// otherCase returns a word as it is named when it is exported, or no longer.
func otherCase(word string) string {
	if lower := strings.ToLower(word[:1]); lower != word[:1] {
		return lower + word[1:]
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// has reports whether a link in a file leads to something. Packages of others
// are not looked into.
func (known told) has(s source, name string) bool {
	if known.declared[s.pkg][name] {
		return true
	}
	first, rest, isLong := strings.Cut(name, ".")
	folders := known.folders[first]
	if !isLong {
		return len(folders) > 0
	}
	return len(folders) == 0 && !known.declared[s.pkg][first] ||
		slices.ContainsFunc(folders, func(folder string) bool { return known.declared[folder][rest] })
}
