package pattern

import (
	"errors"
	"fmt"
	"strings"

	"edgeguard/logline/scan"
)

// apacheDirectives are those whose shape is known. Any other is taken for text
// that a client may have written.
// (https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#formats)
var apacheDirectives = withOwn(map[string]variable{
	"h":   {scan.PartAddr, howShape},
	"a":   {scan.PartAddr, howShape},
	"c}a": {whatPeer, howShape},
	"s":   {scan.PartStatus, howShape},
	"p":   {scan.PartPort, howShape},
	"r":   {scan.PartRequest, howFree},
	"m":   {scan.PartMethod, howFree},
	"U":   {scan.PartPath, howFree},
	"v":   {scan.PartHost, howToken},
	"V":   {scan.PartHost, howWord},
	"c}h": {whatPeer, howShape},
}, "A b B D I k l O P S T ms}T us}T s}T X L")

// compileApache compiles a LogFormat, as the string or as the whole directive.
func compileApache(s string) (*program, error) {
	tokens, err := apacheTokens(s)
	if err != nil {
		return nil, err
	}
	return compile(tokens)
}

// compileTail compiles what may follow the part of a line that it must have.
func compileTail(s string) (*program, error) {
	tokens, err := apacheTokens(s)
	if err != nil {
		return nil, err
	}
	return assemble(tokens)
}

func apacheTokens(s string) ([]token, error) {
	if inner, ok := strings.CutPrefix(s, "LogFormat"); ok {
		words, err := directiveWords(inner)
		if err != nil || len(words) == 0 {
			return nil, errors.New(`LogFormat needs a string in quotes: LogFormat "%h %l %u %t …" name`)
		}
		s = words[0]
	}
	return percentTokens(s, apacheEscape, apacheDirective)
}

func apacheEscape(c byte) byte {
	switch c {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	}
	return c
}

// apacheDirective reads one %…, which may carry status conditions (%!200,304s),
// < or >, and an argument in braces. It returns its tokens and length.
func apacheDirective(s string) ([]token, int, error) {
	n := 1
	for n < len(s) && strings.IndexByte("!,<>0123456789", s[n]) >= 0 {
		n++
	}
	arg := ""
	if n < len(s) && s[n] == '{' {
		end := strings.IndexByte(s[n:], '}')
		if end < 0 {
			return nil, 0, fmt.Errorf("%q has no }: close it", s)
		}
		arg = s[n+1 : n+end]
		n += end + 1
	}
	if n < len(s) && s[n] == '^' {
		n += 2 // %{NAME}^ti and ^to: trailers
	}
	if n >= len(s) || !scan.IsAlnum(s[n]) {
		return nil, 0, fmt.Errorf("a %% without a letter stands at %q: write %%%% for a bare %%", s)
	}
	letter, name := s[n], s[:n+1]
	if letter == 't' {
		tokens, err := apacheTime(name, arg)
		return tokens, n + 1, err
	}
	v := apacheVariable(letter, arg)
	return []token{{name: name, what: v.what, how: v.how}}, n + 1, nil
}

// apacheVariable says what a directive other than a time holds.
func apacheVariable(letter byte, arg string) variable {
	switch {
	case letter == 'i' && strings.EqualFold(arg, "User-Agent"):
		return variable{scan.PartAgent, howFree}
	case letter == 'i' && (strings.EqualFold(arg, "Referer") || strings.EqualFold(arg, "Referrer")):
		return variable{scan.PartReferer, howFree}
	case letter == 'i' && strings.EqualFold(arg, "Sec-Fetch-Site"):
		return variable{scan.PartFetchSite, howFree}
	case letter == 'i' && strings.EqualFold(arg, "Host"):
		return variable{scan.PartHost, howFree}
	case letter == 'p' && arg == "remote":
		return variable{scan.PartNone, howToken}
	case letter == 'p': // %{canonical}p and %{local}p are the server's, too
		arg = ""
	}
	key := string(letter)
	if arg != "" {
		key = arg + "}" + key
	}
	if v, known := apacheDirectives[key]; known {
		return v
	}
	return variable{scan.PartNone, howFree}
}

// apacheTime returns the tokens of %t and %{format}t.
func apacheTime(name, arg string) ([]token, error) {
	arg = strings.TrimPrefix(strings.TrimPrefix(arg, "begin:"), "end:")
	switch arg {
	case "": // %t brings its own brackets
		return []token{{lit: "["}, {name: name, what: whatCLF}, {lit: "]"}}, nil
	case "sec":
		return []token{{name: name, what: whatUnix}}, nil
	case "msec":
		return []token{{name: name, what: whatMilli}}, nil
	case "usec":
		return []token{{name: name, what: whatMicro}}, nil
	}
	date, err := scan.CompileDate(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []token{{name: name, what: whatDate, date: date}}, nil
}
