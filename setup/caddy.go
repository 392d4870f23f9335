package setup

import (
	"path"
	"slices"
	"strings"
)

// caddy reads a Caddyfile. Sites without a `log` write no access log.
type caddy struct {
	*source
	folder   string
	blocks   []string // "" of a block without a name: the global options
	log      *Log     // the one that is being read
	standard *Log     // the output of the default logger
	logs     []Log
	site     *virtual // whose addresses are being read
	begun    bool     // a statement was read
	whole    bool     // the file is one site, without a block
}

func readCaddy(s *source, file string) error {
	c := &caddy{source: s, folder: path.Dir(file)}
	if err := c.file(file, 0); err != nil {
		return err
	}
	for _, l := range c.logs {
		if l.File == "" && l.Unusable == "" { // as the default logger
			l.Unusable = "goes to standard error: add `output file /var/log/caddy/access.log` to it"
			if c.standard != nil {
				l.File, l.Format, l.Unusable = c.standard.File, c.standard.Format, c.standard.Unusable
			}
		}
		s.addLog(l)
	}
	if len(c.logs) == 0 {
		s.addLog(Log{File: CaddyLog, Format: "json", At: file})
		s.doubt("%s: no site has a log: `edgeguard snippets caddy-names --install` gives each one that writes %s", file, CaddyLog)
	}
	return nil
}

func (c *caddy) file(file string, depth int) error {
	text, err := c.readFile(file)
	if err != nil {
		return err
	}
	lex := caddyLexer(text)
	for {
		s, ok := lex.NextStatement()
		if !ok {
			return nil
		}
		c.statement(&s, file, depth)
		c.mark(&s, mark{file: file, after: len(text) - lex.left()})
	}
}

// address takes the addresses of a site: what stands before its block, on more lines where one
// ends with a comma. A site that is the whole file has no block.
func (c *caddy) address(s *Statement, where string) {
	more := strings.HasSuffix(s.Word(max(0, len(s.Words)-1)), ",")
	c.whole = c.whole || !c.begun && s.End == "" && !more
	isFirst := !c.begun
	c.begun = true
	if len(c.blocks) > 0 || len(s.Words) == 0 || s.Word(0) == "import" || strings.HasPrefix(s.Word(0), "(") || c.whole && !isFirst {
		return
	}
	if c.site == nil {
		c.site = &virtual{at: where}
	}
	for _, word := range s.Words {
		for address := range strings.SplitSeq(word, ",") {
			if _, after, found := strings.Cut(address, "://"); found {
				address = after
			}
			address, _, _ = strings.Cut(address, "/")
			if !strings.HasPrefix(address, "[") && !strings.Contains(address, "{") {
				address, _, _ = strings.Cut(address, ":")
			}
			c.site.names = append(c.site.names, address)
		}
	}
	if !more {
		c.found.Sites = append(c.found.Sites, Site{At: c.site.at, Names: c.site.names})
		c.addVirtual(c.site)
		c.site = nil
	}
}

func (c *caddy) statement(s *Statement, file string, depth int) {
	c.address(s, lineOf(file, s.Line))
	switch {
	case s.Word(0) == "log" && (len(c.blocks) > 0 || c.whole) && c.log == nil:
		c.log = &Log{At: lineOf(file, s.Line), Format: "json"}
		if s.End != "{" {
			c.end()
		}
	case c.log != nil:
		c.option(s)
	case s.Word(0) == "import" && s.Word(1) != "" && strings.ContainsAny(s.Word(1), "/*."):
		c.included(absolute(c.folder, s.Word(1)), depth, c.file)
	}
	if s.Word(0) == "root" && len(c.found.names.roots) < mostDoubts {
		c.found.names.roots = append(c.found.names.roots, path.Clean(s.Word(1)))
	}
	switch s.End {
	case "{":
		c.blocks = append(c.blocks, s.Word(0))
	case "}":
		last := max(0, len(c.blocks)-1)
		if c.log != nil && last < len(c.blocks) && c.blocks[last] == "log" {
			c.end()
		}
		c.blocks = c.blocks[:last]
	}
}

// option reads what is in a log.
func (c *caddy) option(s *Statement) {
	switch {
	case s.Word(0) == "output" && s.Word(1) == "file" && s.Word(2) != "":
		if strings.ContainsAny(s.Word(2), "{}") {
			c.log.Unusable = "its path " + s.Word(2) + " has placeholders: name each file with --log"
		} else {
			c.log.File = absolute(c.folder, s.Word(2))
		}
	case s.Word(0) == "output" && s.Word(1) != "":
		c.log.Unusable = "goes to " + strings.Join(s.Words[1:], " ") + ": add `output file /var/log/caddy/access.log` to it"
	case s.Word(0) == "format" && s.Word(1) == "console":
		c.log.Unusable = "is written for people: use `format json`"
	}
}

// mark notes where lines of a site go: behind its brace, or its address where it has none, and behind
// the brace of each block that answers before what stands beside it does.
func (c *caddy) mark(s *Statement, at mark) {
	first := s.End == "{" && slices.Contains([]string{"handle", "handle_path", "route"}, s.Word(0))
	if first && strings.HasPrefix(c.blocks[0], "(") {
		c.missed("%s: %s in the snippet %s answers before a line of the site does: put `respond @edgeguard 429` into it", lineOf(at.file, s.Line), s.Word(0), c.blocks[0])
	}
	if len(c.found.Sites) == 0 {
		return
	}
	site := &c.found.Sites[len(c.found.Sites)-1]
	inside := c.whole || len(c.blocks) > 0 && !strings.HasPrefix(c.blocks[0], "(") && c.blocks[0] != ""
	switch {
	case site.marks == nil && c.whole:
		at.after-- // the line's end
		site.marks = []mark{at}
	case site.marks == nil && len(c.blocks) == 1 && s.End == "{":
		site.marks = []mark{at}
	case inside && s.Word(0) == "log":
		site.Logs = true
	case inside && s.Word(0) == "root":
		site.looks = append(site.looks, path.Clean(s.Word(1)))
	case inside && first:
		site.marks = append(site.marks, at)
	}
}

// end ends a log: one of a site, or that of the default logger.
func (c *caddy) end() {
	if len(c.blocks) > 0 && c.blocks[0] == "" {
		if c.log.File != "" || c.log.Unusable != "" {
			c.standard = c.log
		}
	} else if len(c.logs) < mostLogs {
		c.logs = append(c.logs, *c.log)
	}
	c.log = nil
}

// CaddyLog is what a Caddy whose sites have no log is made to write by edgeguard's lines.
const CaddyLog = "/var/log/caddy/edgeguard.log"
