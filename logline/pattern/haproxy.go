package pattern

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgeguard/logline/scan"
)

// haproxyVariables are those of HAProxy's log-format whose shape is known. HAProxy writes a client's
// quotes and control characters as #22 (log.c, url_encode_map, hdr_encode_map), and takes no
// blank in a method, a target or a version: https://docs.haproxy.org/3.0/configuration.html, 8.2.6.
var haproxyVariables = withOwn(map[string]variable{
	"ci":  {scan.PartAddr, howShape},
	"t":   {whatCLF, howShape},
	"tr":  {whatCLF, howShape},
	"T":   {whatCLF, howShape},
	"Tl":  {whatCLF, howShape},
	"trg": {whatCLF, howShape},
	"trl": {whatCLF, howShape},
	"Ts":  {whatUnix, howShape},
	"ST":  {scan.PartStatus, howShape},
	"fp":  {scan.PartPort, howShape},
	"r":   {scan.PartRequest, howFree},
	"HM":  {scan.PartMethod, howWord},
	"HP":  {scan.PartPath, howWord},
	"HPO": {scan.PartPath, howWord},
	"HU":  {scan.PartPath, howWord},
	"HQ":  {scan.PartNone, howWord},
	"HV":  {scan.PartNone, howWord},
	"H":   {scan.PartNode, howToken},
	"hr":  {scan.PartNone, howFree},
	"hrl": {scan.PartNone, howFree},
	"hs":  {scan.PartNone, howFree},
	"hsl": {scan.PartNone, howFree},
	"CC":  {scan.PartNone, howFree}, // cookies, as they came
	"CS":  {scan.PartNone, howFree},

	// Of the sample expressions those that hold no text of a client's.
	"[src]":      {scan.PartAddr, howShape},
	"[status]":   {scan.PartStatus, howShape},
	"[dst_port]": {scan.PartPort, howShape},
	"[hostname]": {scan.PartNode, howToken},
}, "B ID Ta Tc Td Th Ti Tq TR Tr Tt Tu Tw U ac b bc bi bp bq cp f fc fi ft lc ms pid rc rt s sc si sp sq sslc sslv ts tsc "+
	"[src_port] [dst] [fe_name] [be_name] [srv_name] [pid]")

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

// haproxyTokens takes a log-format apart. What stands behind a raw variable is not looked at, and
// nothing that counts may stand there.
func haproxyTokens(s string) ([]token, error) {
	tokens, err := percentTokens(s, func(c byte) byte { return c }, haproxyVariable)
	raw := slices.IndexFunc(tokens, isRaw)
	if raw < 0 {
		return tokens, err
	}
	for _, t := range tokens[raw+1:] {
		if bears(t.what) || t.what == scan.PartRequest {
			return nil, fmt.Errorf("%s stands behind %s, into which a client can write anything: put it before", t.name, tokens[raw].name)
		}
	}
	tokens[raw].how = howToken // to the end of the line
	return tokens[:raw+1], nil
}

// isRaw reports whether a variable may hold whatever a client sends, quotes as they are. Captured
// headers (%hr, %hs) have theirs escaped.
func isRaw(t token) bool {
	return t.how == howFree && t.what == scan.PartNone && !strings.HasPrefix(t.name, "%h")
}

// haproxyVariable reads one %…, with its flags in braces, and returns its tokens and length.
func haproxyVariable(s string) (tokens []token, n int, err error) {
	quoted := false
	n = 1
	if strings.HasPrefix(s[n:], "{") {
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return nil, 0, fmt.Errorf("%q has no }: close it", s)
		}
		for _, flag := range strings.Split(s[n+1:end], ",") {
			switch flag = strings.TrimSpace(flag); flag {
			case "+Q":
				quoted = true
			case "", "-Q", "-X", "-E", "+M", "-M":
			default:
				return nil, 0, fmt.Errorf("the flag %s changes how values are written: leave it out", flag)
			}
		}
		n = end + 1
	}
	name, v, err := haproxyName(s[n:])
	if err != nil {
		return nil, 0, err
	}
	t := token{name: "%" + name, what: v.what, how: v.how}
	if n += len(name); !quoted || isRaw(t) {
		return []token{t}, n, nil
	}
	return []token{{lit: `"`}, t, {lit: `"`}}, n, nil
}

// haproxyName finds the variable or the expression with which a text begins.
func haproxyName(s string) (name string, v variable, err error) {
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", v, fmt.Errorf("%q has no ]: close it", "%"+s)
		}
		v, known := haproxyVariables[s[:end+1]]
		if !known {
			v.how = howFree
		}
		return s[:end+1], v, nil
	}
	end := 0
	for end < len(s) && scan.IsAlnum(s[end]) {
		end++
	}
	for ; end > 0; end-- { // the longest that is known, as HAProxy reads it
		if name = s[:end]; name == "o" {
			return "", v, errors.New("%o sets flags for all that follows: set them where they are meant, as %{+Q}r")
		}
		if v, known := haproxyVariables[name]; known {
			return name, v, nil
		}
	}
	return "", v, fmt.Errorf("%q begins with no variable of HAProxy's: write %%%% for a bare %%", "%"+s)
}
