package setup

import (
	"regexp"
	"slices"
	"strings"
)

// Statement is one directive: its words, and what ends it (";", "{", "}" or, where
// lines end directives or the text ends, "").
type Statement struct {
	Words []string
	End   string
	Line  int
}

// Word returns a word, or "" if there are fewer.
func (s *Statement) Word(i int) string {
	if i < len(s.Words) {
		return s.Words[i]
	}
	return ""
}

// Lexer splits a text into statements, as nginx does, or as Caddy does where a
// line's end ends a statement.
type Lexer struct {
	text  string
	line  int
	lines bool // a line's end ends a statement, a semicolon does not
	quote string
	open  int
	// heredocs says that <<MARK begins a text of lines up to the next MARK.
	heredocs bool
}

// NginxLexer returns a lexer that reads as nginx does.
func NginxLexer(text string) *Lexer { return &Lexer{text: text, line: 1, quote: `"'`} }

// caddyLexer returns a lexer that reads as Caddy does.
func caddyLexer(text string) *Lexer {
	return &Lexer{text: strings.TrimPrefix(text, "\ufeff"), line: 1, lines: true, quote: "\"`", heredocs: true}
}

// Open returns the line of a quote that is not closed, 0 if all were. The text behind it
// is one word.
func (l *Lexer) Open() int { return l.open }

// left returns how much of the text is not read yet.
func (l *Lexer) left() int { return len(l.text) }

// mostWords bounds a statement: one that has more ends there, and is none that another
// program would read.
const mostWords = 1 << 20

// NextStatement returns the next statement; ok is false at the end.
func (l *Lexer) NextStatement() (s Statement, ok bool) {
	for {
		l.space(len(s.Words) > 0)
		if l.text == "" || len(s.Words) >= mostWords {
			return s, len(s.Words) > 0
		}
		if len(s.Words) == 0 {
			s.Line = l.line
		}
		c := l.text[0]
		switch {
		case c == '\n':
			l.line++
			l.text = l.text[1:]
			return s, true
		case c == ';' && !l.lines, c == '{' && l.brace(), c == '}' && l.brace():
			if c == '}' && len(s.Words) > 0 {
				return s, true // the brace is the next statement
			}
			l.text = l.text[1:]
			s.End = string(c)
			if !l.lines && c == '{' && slices.ContainsFunc(s.Words[:min(1, len(s.Words))], isLua) {
				l.lua()
			}
			return s, true
		}
		s.Words = append(s.Words, l.word())
	}
}

// brace reports whether a brace is one by itself. Caddy has placeholders such as
// {$HOME}; in nginx a brace always is.
func (l *Lexer) brace() bool {
	return !l.lines || len(l.text) == 1 || strings.IndexByte(" \t\r\n", l.text[1]) >= 0
}

// space passes over blanks and comments. Within a statement, a line's end is left if
// it ends the statement.
func (l *Lexer) space(within bool) {
	for l.text != "" {
		switch c := l.text[0]; {
		case c == '#':
			end := strings.IndexByte(l.text, '\n')
			if end < 0 {
				end = len(l.text)
			}
			l.text = l.text[end:]
		case c == '\n' && l.lines && within:
			return
		case c == '\n':
			l.line++
			l.text = l.text[1:]
		case c == ' ' || c == '\t' || c == '\r':
			l.text = l.text[1:]
		default:
			return
		}
	}
}

// word takes a word, in quotes or without.
func (l *Lexer) word() string {
	if c := l.text[0]; strings.IndexByte(l.quote, c) >= 0 {
		return l.quoted(c)
	}
	if mark := heredoc.FindStringSubmatch(l.text); l.heredocs && mark != nil {
		w := l.text[:len(mark[0])+lengthTo(l.text[len(mark[0]):], mark[1])]
		l.line, l.text = l.line+strings.Count(w, "\n"), l.text[len(w):]
		return w
	}
	n := 0
	for n < len(l.text) {
		c := l.text[n]
		if c == '\\' && n+1 < len(l.text) && l.text[n+1] != '\n' {
			n += 2
			continue
		}
		if !l.lines && c == '$' && n+1 < len(l.text) && l.text[n+1] == '{' { // ${name}
			if end := strings.IndexByte(l.text[n:], '}'); end >= 0 {
				n += end + 1
				continue
			}
		}
		if strings.IndexByte(" \t\r\n", c) >= 0 || !l.lines && strings.IndexByte(";{", c) >= 0 {
			break
		}
		n++
	}
	w := l.text[:max(n, 1)]
	l.text = l.text[len(w):]
	return w
}

var heredoc = regexp.MustCompile(`^<<([A-Za-z0-9_-]+)\r?\n`)

// quoted takes a word in quotes. One that is not closed goes to the end.
func (l *Lexer) quoted(quote byte) string {
	var w []byte
	i, begun := 1, l.line
	for ; i < len(l.text) && l.text[i] != quote; i++ {
		if l.text[i] == '\\' && i+1 < len(l.text) && (l.text[i+1] == quote || l.text[i+1] == '\\') {
			i++
		}
		if l.text[i] == '\n' {
			l.line++
		}
		w = append(w, l.text[i])
	}
	if i >= len(l.text) {
		l.open = begun
	}
	l.text = l.text[min(i+1, len(l.text)):]
	return string(w)
}

// splitWords splits one line into words, as Apache and HAProxy do.
func splitWords(line string) []string {
	l := Lexer{text: line, lines: true, quote: `"'`}
	s, _ := l.NextStatement()
	return s.Words
}

// isLua reports whether a directive of nginx has a block of Lua, which is no block of directives.
func isLua(word string) bool { return strings.HasSuffix(word, "_by_lua_block") }

// lua passes over Lua up to the brace that ends its block. That one is the next statement.
func (l *Lexer) lua() {
	for depth := 0; l.text != ""; {
		n := 1
		switch c := l.text[0]; {
		case c == '}' && depth == 0:
			return
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '[':
			n = luaLong(l.text)
		case strings.HasPrefix(l.text, "--"):
			if n = 2 + luaLong(l.text[2:]); n == 3 || n == 2 { // not a long comment: up to the line's end
				n = lengthTo(l.text, "\n") - 1
			}
		case c == '"' || c == '\'':
			for n < len(l.text) && l.text[n] != c && l.text[n] != '\n' {
				if l.text[n] == '\\' {
					n++
				}
				n++
			}
			n++
		}
		n = min(max(n, 1), len(l.text))
		l.line += strings.Count(l.text[:n], "\n")
		l.text = l.text[n:]
	}
}

// luaLong returns the length of a long bracket, such as [[text]] or [=[text]=], at the start of
// text; 1 if there is none, 0 of an empty text.
func luaLong(text string) int {
	level := strings.TrimLeft(strings.TrimPrefix(text, "["), "=")
	signs := len(text) - 1 - len(level)
	if !strings.HasPrefix(text, "[") || !strings.HasPrefix(level, "[") {
		return min(1, len(text))
	}
	return lengthTo(text, "]"+strings.Repeat("=", signs)+"]")
}

// lengthTo returns the length of text up to the end of the first mark, or all of it.
func lengthTo(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + len(mark)
	}
	return len(text)
}
