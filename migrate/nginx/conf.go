package nginx

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"edgeguard/setup/directives"
)

// Bounds on a configuration: an include that includes itself must end.
const (
	mostStatements = 300_000
	mostIncludes   = 2_000
	mostDepth      = 16
)

// node is a directive, and what is in its braces.
type node struct {
	words []string
	file  string
	line  int
	block bool
	inner []*node
}

// word returns a word, or "" if there are fewer.
func (n *node) word(i int) string {
	if i < len(n.words) {
		return n.words[i]
	}
	return ""
}

// at returns where the directive is.
func (n *node) at() string {
	if n.file == "" {
		return fmt.Sprintf("line %d", n.line)
	}
	return fmt.Sprintf("%s:%d", n.file, n.line)
}

// conf reads a configuration with its includes.
type conf struct {
	files      map[string]string // as `nginx -T` names them
	names      []string          // of the files, in their order
	missing    []*node           // includes of files that are not there
	statements int
	includes   int
}

// marker begins each file in what `nginx -T` prints.
const marker = "# configuration file "

// read returns a configuration as one tree.
func read(text string) (*node, *conf, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, nil, fmt.Errorf("is not UTF-8 text")
	}
	c := &conf{}
	if err := c.split(strings.TrimPrefix(text, "\ufeff")); err != nil {
		return nil, nil, err
	}
	root := &node{block: true}
	if err := c.file(root, c.names[0], 0); err != nil {
		return nil, nil, err
	}
	return root, c, nil
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
func (c *conf) file(into *node, name string, depth int) error {
	if c.includes++; c.includes > mostIncludes || depth > mostDepth {
		return fmt.Errorf("%s: more than %d includes, or nested more than %d times", name, mostIncludes, mostDepth)
	}
	lex := directives.Nginx(c.files[name])
	blocks := []*node{into}
	for {
		s, ok := lex.Next()
		if line := lex.Open(); line > 0 {
			return fmt.Errorf("%s: a quote is not closed", (&node{file: name, line: line}).at())
		}
		if !ok {
			break
		}
		n := &node{words: s.Words, file: name, line: s.Line, block: s.End == "{"}
		if c.statements++; c.statements > mostStatements {
			return fmt.Errorf("%s: more than %d directives", n.at(), mostStatements)
		}
		last := blocks[len(blocks)-1]
		switch {
		case strings.HasSuffix(n.word(0), "_by_lua_block"):
			return fmt.Errorf("%s: %s has Lua, which is not read: take the block out of a copy of the file", n.at(), n.word(0))
		case s.End == "" || len(s.Words) == 0 && s.End != "}":
			return fmt.Errorf("%s: %q does not end with ; or {", n.at(), strings.Join(n.words[:min(2, len(n.words))], " "))
		case s.End == "}" && len(blocks) == 1:
			return fmt.Errorf("%s: a closing brace without an opening one", n.at())
		case s.End == "}":
			blocks = blocks[:len(blocks)-1]
			continue
		case n.word(0) == "include" && !n.block:
			if err := c.include(last, n, depth); err != nil {
				return err
			}
			continue
		}
		last.inner = append(last.inner, n)
		if n.block {
			if blocks = append(blocks, n); len(blocks) > 2*mostDepth {
				return fmt.Errorf("%s: blocks are nested more than %d times", n.at(), 2*mostDepth)
			}
		}
	}
	if len(blocks) > 1 {
		return fmt.Errorf("%s: the block %s is not closed", blocks[len(blocks)-1].at(), blocks[len(blocks)-1].word(0))
	}
	return nil
}

// include adds the files that an include names. Patterns are compared with the names of
// the files that are there, as nginx did when it printed these.
func (c *conf) include(into *node, n *node, depth int) error {
	pattern := n.word(1)
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

// find returns the directives of a name in a block, without those in inner blocks.
func (n *node) find(name string) []*node {
	var all []*node
	for _, d := range n.inner {
		if d.word(0) == name {
			all = append(all, d)
		}
	}
	return all
}

// all calls do with each directive below a block.
func (n *node) all(do func(*node)) {
	for _, d := range n.inner {
		do(d)
		d.all(do)
	}
}
