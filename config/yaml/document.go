package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxFile is the largest text that is read, in bytes.
const MaxFile = 1 << 20

// MaxNesting is how deep a value may lie.
const MaxNesting = 32

// Further bounds on the input of the YAML parser. It recurses with the nesting, and
// its time grows with the square of a mapping's size.
const (
	maxTokens = 200_000
	maxFields = 10_000
)

// Refusal is why a text is refused, or a part of it.
type Refusal struct {
	Line, Column int // from 1; 0 where the text as a whole is meant
	Text, Fix    string
}

// Tree is what a text contains.
type Tree struct {
	Body ast.Node // nil for an empty text, and for one that cannot be read
	// Anchors are the values of aliases, by name.
	Anchors map[string]ast.Node
	last    int // the greatest line of a token
}

// ParseDocument reads the text of a YAML file into one tree, within bounds. There is a refusal where it cannot be read, or holds more than
// one document; then the tree is that of the first.
func ParseDocument(data []byte) (Tree, *Refusal) { return parseBehind(0, data) }

// parseBehind is ParseDocument for a text that lies behind so many lines of others. All lines
// are counted from the first of these.
func parseBehind(before int, data []byte) (Tree, *Refusal) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // which some editors write
	switch {
	case len(data) > MaxFile:
		return Tree{}, &Refusal{Line: before, Text: fmt.Sprintf("is larger than %d bytes", MaxFile), Fix: "make it smaller"}
	case !utf8.Valid(data):
		line := before + 1 + bytes.Count(data[:invalidAt(data)], []byte("\n"))
		return Tree{}, &Refusal{line, 1, "is not UTF-8 text", "save it as UTF-8"}
	}
	tokens := lexer.Tokenize(string(data))
	last := moveDown(tokens, before)
	if p := checkBounds(tokens); p != nil {
		p.Line = max(p.Line, before)
		return Tree{last: last}, p
	}
	file, err := parseTokens(tokens)
	if err != nil {
		return Tree{last: last}, syntaxProblem(err, before, strings.Split(string(data), "\n"))
	}
	t, bodies := Tree{Anchors: make(anchors), last: last}, 0
	var more *Refusal
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		ast.Walk(anchors(t.Anchors), doc.Body)
		switch bodies++; bodies {
		case 1:
			t.Body = doc.Body
		case 2:
			line, column := Place(doc.Body)
			more = &Refusal{line, column, "a second document begins", "keep one document, without ---"}
		}
	}
	return t, more
}

// moveDown adds a number of lines to the place of each token, and returns the greatest line.
func moveDown(tokens token.Tokens, lines int) (last int) {
	moved := make(map[*token.Position]bool, len(tokens)) // tokens may share one
	for _, t := range tokens {
		if !moved[t.Position] {
			moved[t.Position] = true
			t.Position.Line += lines
			last = max(last, t.Position.Line)
		}
	}
	return last
}

// Place returns the line and the column of a value's first letter, and zeros where
// it has none.
func Place(value ast.Node) (line, column int) {
	if v, ok := value.(*ast.MappingNode); ok && len(v.Values) > 0 && !v.IsFlowStyle {
		return Place(v.Values[0].Key)
	}
	if value == nil || value.GetToken() == nil {
		return 0, 0
	}
	at := value.GetToken().Position
	return at.Line, at.Column
}

// parseTokens turns a panic of the parser into an error: on some malformed
// files it indexes beyond its tokens.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("cannot be read as YAML")
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// syntaxProblem says why the parser refused a text. Its message for a tab, the most
// common reason, does not name the tab.
func syntaxProblem(err error, before int, lines []string) *Refusal {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return &Refusal{Line: before, Text: err.Error(), Fix: "compare it with the example in docs/rules.md"}
	}
	at := syntax.GetToken().Position
	if column := tabIn(lines, at.Line-before); column > 0 {
		return &Refusal{at.Line, column, "not YAML: a tab indents this line", "use spaces: YAML allows no tabs there"}
	}
	return &Refusal{at.Line, at.Column, "not YAML: " + syntax.GetMessage(), "fix this first: the rest of the file was not checked"}
}

// tabIn returns the column of a tab that indents a line, and 0 if there is none.
func tabIn(lines []string, line int) int {
	if line < 1 || line > len(lines) {
		return 0
	}
	text := lines[line-1]
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	return strings.IndexByte(indent, '\t') + 1
}

// invalidAt finds the first byte that is not UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// checkBounds refuses what would cost the parser too much, before it starts.
func checkBounds(tokens token.Tokens) *Refusal {
	var depth, inLine, line, fields int
	for _, t := range tokens {
		if t.Position.Line != line {
			line, inLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			inLine++
		case token.MappingValueType:
			fields++
		}
		if depth > MaxNesting || inLine > MaxNesting {
			return &Refusal{t.Position.Line, t.Position.Column, "is nested too deeply", fmt.Sprintf("use at most %d levels", MaxNesting)}
		}
	}
	if len(tokens) > maxTokens || fields > maxFields {
		return &Refusal{Text: "has too many values", Fix: fmt.Sprintf("use at most %d fields", maxFields)}
	}
	return nil
}

// anchors collects the values of aliases.
type anchors map[string]ast.Node

// Visit implements [ast.Visitor].
func (a anchors) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		a[anchor.Name.GetToken().Value] = anchor.Value
	}
	return a
}
