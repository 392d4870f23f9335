package pattern

import (
	"errors"
	"fmt"
	"strings"

	"edgeguard/logline/scan"
)

// haproxyVariables are those of HAProxy's log-format whose shape is known. HAProxy writes a client's
// quotes and control characters as #22 (log.c, url_encode_map, hdr_encode_map), and takes no
// blank in a method, a target or a version: https://docs.haproxy.org/3.0/configuration.html, 8.2.6.
var haproxyVariables = map[string]variable{
	"ci":  {whatAddr, howShape},
	"t":   {whatCLF, howShape},
	"tr":  {whatCLF, howShape},
	"T":   {whatCLF, howShape},
	"Tl":  {whatCLF, howShape},
	"trg": {whatCLF, howShape},
	"trl": {whatCLF, howShape},
	"Ts":  {whatUnix, howShape},
	"ST":  {whatStatus, howShape},
	"fp":  {whatPort, howShape},
	"r":   {whatRequest, howFree},
	"HM":  {whatMethod, howWord},
	"HP":  {whatPath, howWord},
	"HPO": {whatPath, howWord},
	"HU":  {whatPath, howWord},
	"HQ":  {whatNothing, howWord},
	"HV":  {whatNothing, howWord},
	"H":   {whatNode, howToken},
	"hr":  {whatNothing, howFree},
	"hrl": {whatNothing, howFree},
	"hs":  {whatNothing, howFree},
	"hsl": {whatNothing, howFree},
}

// haproxyOwn are those that hold only what HAProxy and its configuration say.
var haproxyOwn = strings.Fields("B ID Ta Tc Td Th Ti Tq TR Tr Tt Tu Tw U ac b bc bi bp bq cp f fc fi ft lc ms pid rc rt s sc si sp sq sslc sslv ts tsc")

// haproxyExpressions are the sample expressions that hold no text of a client's.
var haproxyExpressions = map[string]variable{
	"src": {whatAddr, howShape}, "status": {whatStatus, howShape}, "dst_port": {whatPort, howShape},
	"src_port": {whatNothing, howToken}, "dst": {whatNothing, howToken}, "fe_name": {whatNothing, howToken}, "be_name": {whatNothing, howToken},
	"srv_name": {whatNothing, howToken}, "pid": {whatNothing, howToken}, "hostname": {whatNode, howToken},
}

// IsHAProxy reports whether a text is a log-format of HAProxy, and none of Apache.
func IsHAProxy(s string) bool {
	return strings.HasPrefix(s, "log-format") || strings.Contains(s, "%ci") || strings.Contains(s, "%[") || strings.Contains(s, "%{+")
}

// HAProxy compiles a log-format, as the string or as the whole directive.
func HAProxy(s string) (Layout, error) {
	if inner, ok := strings.CutPrefix(s, "log-format"); ok {
		words, err := haproxyWords(strings.TrimLeft(inner, " \t"))
		if err != nil {
			return Layout{}, err
		}
		s = words
	}
	tokens, err := haproxyTokens(s)
	if err != nil {
		return Layout{}, err
	}
	p, err := compile(tokens)
	if errors.Is(err, errNoAddr) || errors.Is(err, errNoTime) {
		err = errors.New("it has no client address or no time that HAProxy itself writes: add %ci and [%tr]")
	}
	if err != nil {
		return Layout{}, err
	}
	p.words = false            // no version takes a blank there
	p.quick, p.tail = 0, false // these know a backslash
	return Layout{head: p, hashed: true}, nil
}

// haproxyWords returns the first argument of a directive without its quotes and escapes.
func haproxyWords(s string) (string, error) {
	var out []byte
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			out = append(out, s[i])
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t'):
			return string(out), nil
		default:
			out = append(out, c)
		}
	}
	if quote != 0 {
		return "", fmt.Errorf("a %c is not closed", quote)
	}
	return string(out), nil
}

// haproxyTokens takes a log-format apart. An expression may hold whatever a client sends, quotes
// as they are: what stands behind it is not looked at, and nothing that counts may stand there.
func haproxyTokens(s string) ([]token, error) {
	var tokens []token
	var raw string // the first such expression
	literal := func(text string) {
		if n := len(tokens); n > 0 && tokens[n-1].name == "" {
			tokens[n-1].lit += text
		} else if text != "" {
			tokens = append(tokens, token{lit: text})
		}
	}
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			literal(s[i+1 : i+2])
			i += 2
		case strings.HasPrefix(s[i:], "%%"):
			literal("%")
			i += 2
		case s[i] != '%':
			literal(s[i : i+1])
			i++
		default:
			t, quoted, n, err := haproxyVariable(s[i:])
			if err != nil {
				return nil, err
			}
			i += n
			switch {
			case raw != "" && (t.what.bears() || t.what == whatRequest):
				return nil, fmt.Errorf("%s stands behind %s, into which a client can write anything: put it before", t.name, raw)
			case raw != "":
			case t.how == howFree && t.what == whatNothing && !strings.HasPrefix(t.name, "%h"):
				raw, t.how = t.name, howToken // to the end of the line
				tokens = append(tokens, t)
			case quoted:
				literal(`"`)
				tokens = append(tokens, t, token{lit: `"`})
			default:
				tokens = append(tokens, t)
			}
		}
		if n := len(tokens); raw != "" && tokens[n-1].name != raw {
			tokens = tokens[:n-1] // the text behind it
		}
	}
	return tokens, nil
}

// haproxyVariable reads one %…, with its flags in braces, and returns its length.
func haproxyVariable(s string) (t token, quoted bool, n int, err error) {
	n = 1
	if strings.HasPrefix(s[n:], "{") {
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return t, false, 0, fmt.Errorf("%q has no }: close it", s)
		}
		for _, flag := range strings.Split(s[n+1:end], ",") {
			switch flag = strings.TrimSpace(flag); flag {
			case "+Q":
				quoted = true
			case "", "-Q", "-X", "-E", "+M", "-M":
			default:
				return t, false, 0, fmt.Errorf("the flag %s changes how values are written: leave it out", flag)
			}
		}
		n = end + 1
	}
	if strings.HasPrefix(s[n:], "[") {
		end := strings.IndexByte(s[n:], ']')
		if end < 0 {
			return t, false, 0, fmt.Errorf("%q has no ]: close it", s)
		}
		name := s[n+1 : n+end]
		v, known := haproxyExpressions[name]
		if !known {
			v = variable{whatNothing, howFree}
		}
		return token{name: "%[" + name + "]", what: v.what, how: v.how}, quoted, n + end + 1, nil
	}
	end := n
	for end < len(s) && scan.IsAlnum(s[end]) {
		end++
	}
	for ; end > n; end-- { // the longest that is known, as HAProxy reads it
		name := s[n:end]
		if name == "o" {
			return t, false, 0, errors.New("%o sets flags for all that follows: set them where they are meant, as %{+Q}r")
		}
		if v, known := haproxyVariableOf(name); known {
			return token{name: "%" + name, what: v.what, how: v.how}, quoted, end, nil
		}
	}
	return t, false, 0, fmt.Errorf("%q begins with no variable of HAProxy's: write %%%% for a bare %%", s)
}

func haproxyVariableOf(name string) (variable, bool) {
	if v, known := haproxyVariables[name]; known {
		return v, true
	}
	if name == "CC" || name == "CS" { // captured cookies, as they came
		return variable{whatNothing, howFree}, true
	}
	for _, own := range haproxyOwn {
		if name == own {
			return variable{whatNothing, howToken}, true
		}
	}
	return variable{}, false
}
