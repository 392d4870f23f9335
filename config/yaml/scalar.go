package yaml

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"edgeguard/internal/nearest"
)

// Text reads text in which no variable of the environment can be meant.
func (n Node) Text() (string, bool) {
	text, ok := n.Literal()
	return text, ok && n.plain(text)
}

// Literal reads text that is written as text: a number or a truth value would be
// read differently by the next tool, so it requires quotes. A dollar is a dollar.
func (n Node) Literal() (string, bool) {
	if !n.alone() {
		return "", false
	}
	switch v := n.ast.(type) {
	case *ast.StringNode:
		if v.Value == "" {
			n.Wrong("is empty", "give it a value, or remove it")
		}
		return v.Value, v.Value != ""
	case *ast.LiteralNode:
		n.Wrong("must be one line of text", "write it on one line")
		return "", false
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		n.Wrong("expected text, got "+describe(n.ast), fmt.Sprintf("put it in quotes: %q", Clip(v.GetToken().Value)))
		return "", false
	}
	n.WrongType("text")
	return "", false
}

// Says reports whether it is this word, where another value may be of another type.
func (n Node) Says(word string) bool {
	v, ok := n.ast.(*ast.StringNode)
	return ok && n.within() && v.Value == word
}

// Word reads text or a number, as it is written.
func (n Node) Word() (string, bool) {
	text, ok := n.literalWord()
	return text, ok && n.plain(text)
}

// literalWord is word where a dollar is a dollar.
func (n Node) literalWord() (string, bool) {
	switch v := n.ast.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return v.GetToken().Value, n.alone()
	}
	return n.Literal()
}

// Words reads a list of words, or one word. They may be patterns, so a dollar is a dollar.
func (n Node) Words() []string {
	words := []string{}
	n.List(func(item Node) {
		if word, ok := item.literalWord(); ok {
			words = append(words, word)
		}
	})
	return words
}

// Choice reads one of a few words.
func (n Node) Choice(words ...string) string {
	text, ok := n.Text()
	if !ok {
		return ""
	}
	for _, word := range words {
		if word == text {
			return word
		}
	}
	fix := "use " + strings.Join(words, ", ")
	if near, ok := nearest.Name(text, words); ok {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	n.Wrong(fmt.Sprintf("%q is not known here", Clip(text)), fix)
	return ""
}

// Truth reads true or false.
func (n Node) Truth() bool {
	if !n.alone() {
		return false
	}
	v, ok := n.ast.(*ast.BoolNode)
	if !ok {
		n.WrongType("true or false")
		return false
	}
	return v.Value
}

// Whole reads a whole number in plain decimal: no underscore, no other base,
// no leading zero, which some read as octal.
func (n Node) Whole(least, most uint32) uint32 {
	if !n.alone() {
		return 0
	}
	if _, ok := n.ast.(*ast.IntegerNode); !ok {
		n.WrongType("a whole number")
		return 0
	}
	text := n.ast.GetToken().Value
	value, err := strconv.ParseUint(text, 10, 32)
	switch {
	case err == nil && len(text) > 1 && text[0] == '0':
		n.Wrong(fmt.Sprintf("%s begins with a zero, which some programs read as octal", Clip(text)), "remove the zero")
	case err != nil || value < uint64(least) || value > uint64(most):
		n.Wrong("invalid number "+Clip(text), rangeText(least, most))
	default:
		return uint32(value)
	}
	return 0
}

func rangeText(least, most uint32) string {
	if most == math.MaxUint32 {
		return fmt.Sprintf("use a whole number of at least %d", least)
	}
	return fmt.Sprintf("use a whole number from %d to %d", least, most)
}

// Decimal reads a number as it is written, so that it never becomes a float.
func (n Node) Decimal() string {
	if !n.alone() {
		return ""
	}
	switch v := n.ast.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return v.GetToken().Value
	}
	n.WrongType("a decimal such as 0.95")
	return ""
}

// Duration reads "5m", "90s", "1h30m".
func (n Node) Duration(least time.Duration) time.Duration {
	text, ok := n.Word()
	if !ok {
		return 0
	}
	value, ok := ParseDuration(text)
	switch {
	case !ok:
		n.Wrong(fmt.Sprintf("invalid duration %q", Clip(text)), "use 30s, 5m, 24h or 30d")
	case value < least:
		n.Wrong(fmt.Sprintf("%s is too short", Clip(text)), "use at least "+Duration(least))
	default:
		return value
	}
	return 0
}

// Size reads "512MiB".
func (n Node) Size(least, most int64) int64 {
	text, ok := n.Word()
	if !ok {
		return 0
	}
	if bytes, ok := ParseSize(text); ok {
		if bytes < least {
			n.Wrong(text+" is too small", "use at least "+Size(least))
			return 0
		}
		if bytes > most {
			n.Wrong(text+" is too much", "use at most "+Size(most))
			return 0
		}
		return bytes
	}
	n.Wrong(fmt.Sprintf("invalid size %q", Clip(text)), "use a number with a unit, such as 512MiB or 2GiB")
	return 0
}

// Prefixes reads a list of prefixes and addresses.
func (n Node) Prefixes() []netip.Prefix {
	var prefixes []netip.Prefix
	n.List(func(item Node) {
		text, ok := item.expanded(item.literalWord())
		if !ok {
			return
		}
		p, wrong, fix := ParsePrefix(text)
		if written, has := n.f.variables[PathText(item.path)]; has && wrong != "" {
			wrong, fix = fmt.Sprintf("%q expands to an invalid prefix", Clip(written)), prefixForms
		}
		if wrong != "" {
			item.Wrong(wrong, fix)
			return
		}
		prefixes = append(prefixes, p)
	})
	return prefixes
}

// AbsPath reads an absolute path: a relative one would depend on where the
// program was started.
func (n Node) AbsPath() string {
	text, ok := n.Value()
	if ok && !strings.HasPrefix(text, "/") {
		n.Wrong("is not an absolute path", "use a path such as /var/lib/edgeguard")
	}
	return text
}

// Like reads text of a form; want describes it in an error.
func (n Node) Like(form *regexp.Regexp, want string) string {
	text, ok := n.Text()
	if ok && !form.MatchString(text) {
		n.Wrong(fmt.Sprintf("invalid name %q", Clip(text)), "use "+want)
	}
	return text
}

// Command reads a command and its arguments. One text with spaces would require a
// shell, and no shell is used.
func (n Node) Command() []string {
	n.Once()
	words := n.Words()
	if len(words) == 1 && strings.ContainsAny(words[0], " \t") {
		n.Wrong("is run without a shell, so it must be a list", "write ["+strings.Join(strings.Fields(Clip(words[0])), ", ")+"]")
	}
	if len(words) == 0 && !n.Touched() {
		n.Wrong("is empty", "write a command such as [nginx, -s, reload], or remove it")
	}
	return words
}

// Span reads a duration with bounds.
func (n Node) Span(least, most time.Duration) time.Duration {
	d := n.Duration(least)
	if d > most {
		n.Wrong(Duration(d)+" is too long", "use at most "+Duration(most))
	}
	return d
}
