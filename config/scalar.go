package config

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"edgeguard/config/prefix"
	"edgeguard/config/yamltext"
	"edgeguard/internal/nearest"
)

// text reads text in which no variable of the environment can be meant.
func (n node) text() (string, bool) {
	text, ok := n.literal()
	return text, ok && n.plain(text)
}

// literal reads text that is written as text: a number or a truth value would be
// read differently by the next tool, so it requires quotes. A dollar is a dollar.
func (n node) literal() (string, bool) {
	if !n.within() {
		return "", false
	}
	switch v := n.ast.(type) {
	case *ast.StringNode:
		if v.Value == "" {
			n.wrong("is empty", "give it a value, or remove it")
		}
		return v.Value, v.Value != ""
	case *ast.LiteralNode:
		n.wrong("must be one line of text", "write it on one line")
		return "", false
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		n.wrong("expected text, got "+describe(n.ast), fmt.Sprintf("put it in quotes: %q", clip(v.GetToken().Value)))
		return "", false
	}
	n.wrongType("text")
	return "", false
}

// word reads text or a number, as it is written.
func (n node) word() (string, bool) {
	text, ok := n.literalWord()
	return text, ok && n.plain(text)
}

// literalWord is word where a dollar is a dollar.
func (n node) literalWord() (string, bool) {
	switch v := n.ast.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return v.GetToken().Value, n.within()
	}
	return n.literal()
}

// words reads a list of words, or one word. They may be patterns, so a dollar is a dollar.
func (n node) words() []string {
	words := []string{}
	n.list(func(item node) {
		if word, ok := item.literalWord(); ok {
			words = append(words, word)
		}
	})
	return words
}

// choice reads one of a few words.
func (n node) choice(words ...string) string {
	text, ok := n.text()
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
	n.wrong(fmt.Sprintf("%q is not one of %s", clip(text), strings.Join(words, ", ")), fix)
	return ""
}

// truth reads true or false.
func (n node) truth() bool {
	if !n.within() {
		return false
	}
	v, ok := n.ast.(*ast.BoolNode)
	if !ok {
		n.wrongType("true or false")
		return false
	}
	return v.Value
}

// whole reads a whole number in plain decimal: no underscore, no other base,
// no leading zero, which some read as octal.
func (n node) whole(least, most uint32) uint32 {
	if !n.within() {
		return 0
	}
	if _, ok := n.ast.(*ast.IntegerNode); !ok {
		n.wrongType("a whole number")
		return 0
	}
	text := n.ast.GetToken().Value
	value, err := strconv.ParseUint(text, 10, 32)
	switch {
	case err == nil && len(text) > 1 && text[0] == '0':
		n.wrong(fmt.Sprintf("%s begins with a zero, which some programs read as octal", clip(text)), "remove the zero")
	case err != nil || value < uint64(least) || value > uint64(most):
		n.wrong("invalid number "+clip(text), rangeText(least, most))
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

// decimal reads a number as it is written, so that it never becomes a float.
func (n node) decimal() string {
	if !n.within() {
		return ""
	}
	switch v := n.ast.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return v.GetToken().Value
	}
	n.wrongType("a decimal such as 0.95")
	return ""
}

// duration reads "5m", "90s", "1h30m".
func (n node) duration(least time.Duration) time.Duration {
	text, ok := n.word()
	if !ok {
		return 0
	}
	value, ok := yamltext.ParseDuration(text)
	switch {
	case !ok:
		n.wrong(fmt.Sprintf("invalid duration %q", clip(text)), "use 30s, 5m, 24h or 30d")
	case value < least:
		n.wrong(fmt.Sprintf("%s is too short", clip(text)), "use at least "+yamltext.Duration(least))
	default:
		return value
	}
	return 0
}

// size reads "512MiB".
func (n node) size(least int64) int64 {
	text, ok := n.word()
	if !ok {
		return 0
	}
	if bytes, ok := yamltext.ParseSize(text); ok {
		if bytes < least {
			n.wrong(text+" is too small", "use at least "+yamltext.Size(least))
			return 0
		}
		return bytes
	}
	n.wrong(fmt.Sprintf("invalid size %q", clip(text)), "use a number with a unit, such as 512MiB or 2GiB")
	return 0
}

// prefixes reads a list of prefixes and addresses.
func (n node) prefixes() []netip.Prefix {
	var prefixes []netip.Prefix
	n.list(func(item node) {
		text, ok := item.expanded(item.literalWord())
		if !ok {
			return
		}
		p, wrong, fix := prefix.Parse(text)
		if written, has := n.r.variables[textAt(item.path)]; has && wrong != "" {
			wrong, fix = fmt.Sprintf("%q expands to an invalid prefix", clip(written)), prefix.Forms
		}
		if wrong != "" {
			item.wrong(wrong, fix)
			return
		}
		prefixes = append(prefixes, p)
	})
	return prefixes
}
