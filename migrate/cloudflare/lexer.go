package cloudflare

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// token is a word of an expression.
type token struct {
	kind byte   // 'w' a word, 's' a string, 'o' an operator or a bracket, 0 the end
	text string // of a string, its value
	at   int    // where it begins, in characters from 1
}

// operators are the signs of the language, those first that begin with another.
var operators = []string{"==", "!=", "<=", ">=", "&&", "||", "^^", "..", "<", ">", "!", "~", "(", ")", "{", "}", "[", "]", ",", "*"}

// lex splits an expression into words.
func lex(text string) ([]token, error) {
	var all []token
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		at := utf8.RuneCountInString(text[:len(text)-len(rest)]) + 1
		if rest == "" {
			return append(all, token{at: at}), nil
		}
		t, after, err := next(rest)
		if err != nil {
			return nil, fmt.Errorf("at character %d: %w", at, err)
		}
		t.at = at
		all = append(all, t)
		rest = after
	}
}

// next takes one word.
func next(text string) (t token, rest string, err error) {
	if text[0] == '"' {
		return quoted(text)
	}
	if raw := strings.TrimLeft(text[1:], "#"); text[0] == 'r' && strings.HasPrefix(raw, `"`) {
		end := `"` + strings.Repeat("#", len(text)-1-len(raw))
		value, rest, closed := strings.Cut(raw[1:], end)
		if !closed {
			return t, "", fmt.Errorf("a raw string is not closed")
		}
		return token{kind: 's', text: value}, rest, nil
	}
	for _, o := range operators {
		if strings.HasPrefix(text, o) {
			return token{kind: 'o', text: o}, text[len(o):], nil
		}
	}
	n := 0
	for n < len(text) && isWord(text[n:]) {
		n++
	}
	if n == 0 {
		r, _ := utf8.DecodeRuneInString(text)
		return t, "", fmt.Errorf("%q is not understood", r)
	}
	return token{kind: 'w', text: text[:n]}, text[n:], nil
}

// isWord reports whether a text begins with a character of names, numbers, addresses and
// lists. Two dots are a range.
func isWord(text string) bool {
	c := text[0]
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c == ':' || c == '/' || c == '-' ||
		c == '.' && !strings.HasPrefix(text, "..")
}

// quoted takes a string in quotes. Escapes other than those of the quote and of the
// backslash are refused: their meaning depends on the operator.
func quoted(text string) (t token, rest string, err error) {
	var value strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return token{kind: 's', text: value.String()}, text[i+1:], nil
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			value.WriteByte(text[i])
		case c == '\\':
			return t, "", fmt.Errorf("a string has a backslash before something else than a quote or a backslash")
		default:
			value.WriteByte(c)
		}
	}
	return t, "", fmt.Errorf("a string is not closed")
}
