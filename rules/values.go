package rules

import (
	"fmt"
	"strconv"
	"strings"
)

func parseMethod(text string) ([]string, flaw) {
	if !isToken(text) {
		return nil, flaw{fmt.Sprintf("invalid method %.40q", text), "use a method such as POST"}
	}
	return []string{string(appendUpper(nil, text))}, flaw{}
}

// parseHost reads a host name or a pattern of one, without a port.
func parseHost(text string) ([]string, flaw) {
	const fix = "use a name such as www.example.org or *.example.org"
	switch {
	case text == "" || len(text) >= hostRoom || strings.ContainsAny(text, "/?#@ \t\r\n"):
		return nil, flaw{fmt.Sprintf("invalid host %.40q", text), fix}
	case cutPort(text) != text:
		return nil, flaw{fmt.Sprintf("%q: hosts are compared without their port", text), "write " + bareHost(text)}
	case bareHost(text) != text:
		return nil, flaw{fmt.Sprintf("%q: hosts are compared without a trailing dot", text), "write " + bareHost(text)}
	}
	return splitGlob(string(appendLower(nil, text))), flaw{}
}

// parsePath reads a path or a pattern of one, written as a client would send
// it. What could never equal a normalized path is refused.
func parsePath(text string) ([]string, flaw) {
	const resolved = "write it with dots resolved and slashes merged, as paths are compared"
	if text == "" || text[0] != '/' && text[0] != '*' {
		return nil, flaw{fmt.Sprintf("%.80q does not begin with a slash", text), "write /" + text + " or *" + text}
	}
	if strings.ContainsAny(text, "?#") {
		return nil, flaw{fmt.Sprintf("%.80q: paths are compared without their query", text), "write " + text[:strings.IndexAny(text, "?#")]}
	}
	parts := splitGlob(text)
	for i := range parts {
		parts[i] = unescape(parts[i])
	}
	// Where a star stands, anything may: a byte that no path has in common
	// with dots and slashes keeps what is beside it apart.
	joined := strings.Join(parts, "\x00")
	probe := "/" + strings.TrimPrefix(joined, "/")
	if strings.Contains(probe, "//") || hasDots(probe) {
		return nil, flaw{fmt.Sprintf("%.80q never matches", text), resolved}
	}
	return parts, flaw{}
}

// hasDots reports whether a path has a segment "." or "..".
func hasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// splitGlob returns the texts between the stars, where several stars are one.
func splitGlob(text string) []string {
	for strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "*")
	}
	return strings.Split(text, "*")
}

// unescape decodes %XX once.
func unescape(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// parseStatus reads "404", "4xx" or "400-499".
func parseStatus(text string) (span, flaw) {
	if len(text) == 3 && strings.EqualFold(text[1:], "xx") && '1' <= text[0] && text[0] <= '9' {
		low := uint16(text[0]-'0') * 100
		return span{low, low + 99}, flaw{}
	}
	s, ok := parseSpan(text)
	if !ok || s.low < 100 || s.high > 999 {
		return span{}, flaw{fmt.Sprintf("invalid status %.40q", text), "use one such as 404, 4xx or 400-499"}
	}
	return s, flaw{}
}

func parsePort(text string) (span, flaw) {
	s, ok := parseSpan(text)
	if !ok {
		return span{}, flaw{fmt.Sprintf("invalid port %.40q", text), "use one such as 443 or 8000-8999"}
	}
	return s, flaw{}
}

// parseSpan reads a number or two with a dash between, in ascending order.
func parseSpan(text string) (span, bool) {
	first, second, isRange := strings.Cut(text, "-")
	if !isRange {
		second = first
	}
	low, lowOK := parseNumber(first)
	high, highOK := parseNumber(second)
	return span{low, high}, lowOK && highOK && low <= high
}

// parseNumber refuses a leading zero, which some read as octal.
func parseNumber(text string) (uint16, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && (len(text) == 1 || text[0] != '0')
}
