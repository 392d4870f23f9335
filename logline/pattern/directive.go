package pattern

import (
	"fmt"
	"strings"

	"edgeguard/logline/scan"
)

// directiveWords splits the arguments of a directive as nginx and Apache do:
// by white space, with either kind of quotes, up to nginx's semicolon.
func directiveWords(s string) ([]string, error) {
	var words []string
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if s == "" || s[0] == ';' {
			return words, nil
		}
		if s[0] != '\'' && s[0] != '"' {
			n := strings.IndexAny(s, " \t\r\n;")
			if n < 0 {
				n = len(s)
			}
			words = append(words, s[:n])
			s = s[n:]
			continue
		}
		quote, word := s[0], []byte{}
		for s = s[1:]; s != "" && s[0] != quote; s = s[1:] {
			if s[0] == '\\' && len(s) > 1 {
				s = s[1:]
			}
			word = append(word, s[0])
		}
		if s == "" {
			return nil, fmt.Errorf("a %c is not closed", quote)
		}
		words = append(words, string(word))
		s = s[1:]
	}
}

// variable says what a server's variable holds and how its end is found.
type variable struct {
	what what
	how  how
}

// withOwn adds the variables that hold only what the server itself says, and no rule reads.
func withOwn(known map[string]variable, names string) map[string]variable {
	for name := range strings.FieldsSeq(names) {
		known[name] = variable{scan.PartNone, howToken}
	}
	return known
}

// percentTokens takes a format apart whose variables begin with a %, as Apache's and HAProxy's do.
// Escape says what a byte behind a backslash means, and read returns the tokens of the variable
// with which a text begins, and its length.
func percentTokens(s string, escape func(byte) byte, read func(string) ([]token, int, error)) (tokens []token, err error) {
	var lit []byte
	for i := 0; i < len(s); {
		switch {
		case s[i] == '%' && i+1 < len(s) && s[i+1] == '%':
			lit, i = append(lit, '%'), i+2
		case s[i] == '\\' && i+1 < len(s):
			lit, i = append(lit, escape(s[i+1])), i+2
		case s[i] != '%':
			lit, i = append(lit, s[i]), i+1
		default:
			if len(lit) > 0 {
				tokens = append(tokens, token{lit: string(lit)})
				lit = lit[:0]
			}
			more, n, err := read(s[i:])
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, more...)
			i += n
		}
	}
	if len(lit) > 0 {
		tokens = append(tokens, token{lit: string(lit)})
	}
	return tokens, nil
}
