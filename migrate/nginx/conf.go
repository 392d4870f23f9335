package nginx

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"edgeguard/setup"
)

// Bounds on a configuration: an include that includes itself must end.
const (
	mostStatements = 300_000
	mostIncludes   = 2_000
	mostDepth      = 16
)

// ConfNode is a directive, and what is in its braces.
type ConfNode struct {
	Words []string
	File  string // empty where the text is one file
	Line  int
	Block bool
	Inner []*ConfNode
}

// Word returns a word, or "" if there are fewer.
func (n *ConfNode) Word(i int) string {
	if i < len(n.Words) {
		return n.Words[i]
	}
	return ""
}

// Place returns where the directive is.
func (n *ConfNode) Place() string {
	if n.File == "" {
		return fmt.Sprintf("line %d", n.Line)
	}
	return fmt.Sprintf("%.200s:%d", n.File, n.Line)
}

// conf reads a configuration with its includes.
type conf struct {
	files      map[string]string // as `nginx -T` names them
	names      []string          // of the files, in their order
	missing    []*ConfNode       // includes of files that are not there
	statements int
	includes   int
}

// marker begins each file in what `nginx -T` prints.
const marker = "# configuration file "

// ReadConf returns a configuration, as `nginx -T` prints it, as one tree, and the includes
// of files that are not there.
func ReadConf(text string) (root *ConfNode, missing []*ConfNode, err error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, nil, fmt.Errorf("is not UTF-8 text")
	}
	c := &conf{}
	if err := c.split(strings.TrimPrefix(text, "\ufeff")); err != nil {
		return nil, nil, err
	}
	root = &ConfNode{Block: true}
	if err := c.file(root, c.names[0], 0); err != nil {
		return nil, nil, err
	}
	return root, c.missing, nil
}

// split finds the files in what `nginx -T` prints. Another text is one file without a
// name.
func (c *conf) split(text string) error {
	c.files = map[string]string{}
	name, found, begins := "", false, 0
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n') + 1
		if end == 0 {
			end = len(text) - at
		}
		line := strings.TrimRight(text[at:at+end], "\r\n")
		if rest, ok := strings.CutPrefix(line, marker); ok && strings.HasSuffix(rest, ":") {
			if found {
				c.files[name] = text[begins:at]
			} else if err := prelude(text[:at]); err != nil {
				return err
			}
			name, found, begins = strings.TrimSuffix(rest, ":"), true, at+end
			if !slices.Contains(c.names, name) {
				c.names = append(c.names, name)
			}
			if len(c.names) > mostIncludes {
				return fmt.Errorf("has more than %d files", mostIncludes)
			}
		}
		at += end
	}
	if !found {
		c.names = []string{""}
	}
	c.files[name] = text[begins:]
	return nil
}

// prelude refuses what stands before the first file, except for nginx's messages.
func prelude(text string) error {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "nginx: ") {
			return fmt.Errorf("%q stands before the first file of `nginx -T`", line[:min(len(line), 60)])
		}
	}
	return nil
}

// file adds the directives of a file to a block.
func (c *conf) file(into *ConfNode, name string, depth int) error {
	if c.includes++; c.includes > mostIncludes || depth > mostDepth {
		return fmt.Errorf("%.200s: more than %d includes, or nested more than %d times", name, mostIncludes, mostDepth)
	}
	lex := setup.NginxLexer(c.files[name])
	blocks := []*ConfNode{into}
	for {
		s, ok := lex.NextStatement()
		if line := lex.Open(); line > 0 {
			return fmt.Errorf("%s: a quote is not closed", (&ConfNode{File: name, Line: line}).Place())
		}
		if !ok {
			break
		}
		n := &ConfNode{Words: s.Words, File: name, Line: s.Line, Block: s.End == "{"}
		if c.statements++; c.statements > mostStatements {
			return fmt.Errorf("%s: more than %d directives", n.Place(), mostStatements)
		}
		last := blocks[len(blocks)-1]
		switch {
		case strings.HasSuffix(n.Word(0), "_by_lua_block"):
			return fmt.Errorf("%s: %.60s has Lua, which is not read: take the block out of a copy of the file", n.Place(), n.Word(0))
		case n.Word(0) == "...":
			return fmt.Errorf("%s: ... stands for what a documentation leaves out: take it out of a copy", n.Place())
		case s.End == "" || len(s.Words) == 0 && s.End != "}":
			return fmt.Errorf("%s: %.60q does not end with ; or {", n.Place(), strings.Join(n.Words[:min(2, len(n.Words))], " ")+s.End)
		case s.End == "}" && len(blocks) == 1:
			return fmt.Errorf("%s: a closing brace without an opening one", n.Place())
		case s.End == "}":
			blocks = blocks[:len(blocks)-1]
			continue
		case n.Word(0) == "include" && !n.Block:
			if err := c.include(last, n, depth); err != nil {
				return err
			}
			continue
		}
		last.Inner = append(last.Inner, n)
		if n.Block {
			if blocks = append(blocks, n); len(blocks) > 2*mostDepth {
				return fmt.Errorf("%s: blocks are nested more than %d times", n.Place(), 2*mostDepth)
			}
		}
	}
	if len(blocks) > 1 {
		return fmt.Errorf("%s: the block %.60s is not closed", blocks[len(blocks)-1].Place(), blocks[len(blocks)-1].Word(0))
	}
	return nil
}

// include adds the files that an include names. Patterns are compared with the names of
// the files that are there, as nginx did when it printed these.
func (c *conf) include(into *ConfNode, n *ConfNode, depth int) error {
	pattern := n.Word(1)
	if !path.IsAbs(pattern) {
		pattern = path.Join(path.Dir(c.names[0]), pattern)
	}
	found := false
	for _, name := range c.names {
		is, err := path.Match(pattern, name)
		if name == "" || err != nil || !is && name != pattern {
			continue
		}
		found = true
		if err := c.file(into, name, depth+1); err != nil {
			return err
		}
	}
	if !found && (c.names[0] == "" || !strings.ContainsAny(pattern, "*?[")) {
		c.missing = append(c.missing, n)
	}
	return nil
}

// Directives returns the directives of a name in a block, without those in inner blocks.
func (n *ConfNode) Directives(name string) []*ConfNode {
	var all []*ConfNode
	for _, d := range n.Inner {
		if d.Word(0) == name {
			all = append(all, d)
		}
	}
	return all
}

// EachBelow calls do with each directive below a block.
func (n *ConfNode) EachBelow(do func(*ConfNode)) {
	for _, d := range n.Inner {
		do(d)
		d.EachBelow(do)
	}
}
