package pattern

import (
	"fmt"
	"strings"
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
