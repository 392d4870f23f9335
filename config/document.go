package config

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

// Bounds on the input of the YAML parser. It recurses with the nesting, and
// its time grows with the square of a mapping's size.
const (
	maxTokens  = 200_000
	maxFields  = 10_000
	maxNesting = 32
	// maxNodes bounds what is read, each alias counted as its value.
	maxNodes = 100_000
)

// document parses a file to its one mapping; false if there is none, which is
// no problem where the file is empty.
func (r *reader) document(data []byte) (node, bool) {
	switch {
	case len(data) > maxFile:
		r.wrong(place{}, "", fmt.Sprintf("is larger than %d bytes", maxFile), "make it smaller")
		return node{}, false
	case !utf8.Valid(data):
		line := 1 + bytes.Count(data[:invalidAt(data)], []byte("\n"))
		r.wrong(place{line, 1}, "", "is not UTF-8 text", "save it as UTF-8")
		return node{}, false
	}
	r.lines = strings.Split(string(data), "\n")
	tokens := lexer.Tokenize(string(data))
	if !r.checkBounds(tokens) {
		return node{}, false
	}
	file, err := parseTokens(tokens)
	if err != nil {
		r.wrongSyntax(err)
		return node{}, false
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
			ast.Walk(r.anchors, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return node{}, false
	}
	if len(bodies) > 1 {
		r.wrong(placeOf(bodies[1]), "", "a second document begins", "keep one document, without ---")
	}
	return r.node(bodies[0], ""), true
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

func (r *reader) wrongSyntax(err error) {
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		at := syntax.GetToken().Position
		r.wrong(place{at.Line, at.Column}, "", "not YAML: "+syntax.GetMessage(), "fix this first: the rest of the file was not checked")
		return
	}
	r.wrong(place{}, "", err.Error(), "compare it with the example in docs/rules.md")
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
func (r *reader) checkBounds(tokens token.Tokens) bool {
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
		if depth > maxNesting || inLine > maxNesting {
			r.wrong(place{t.Position.Line, t.Position.Column}, "", "is nested too deeply", fmt.Sprintf("use at most %d levels", maxNesting))
			return false
		}
	}
	if len(tokens) > maxTokens || fields > maxFields {
		r.wrong(place{}, "", "has too many values", fmt.Sprintf("use at most %d fields", maxFields))
		return false
	}
	return true
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
