package rules

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// Folding: the variants of a path that frameworks serve as one page.
//
//	/Login      ASP.NET and Express compare without regard to case
//	/login/     Rails, Express, Spring before 6 and ASP.NET take a slash at the end
//	/login;a=1  Tomcat, Jetty and Spring cut parameters off each segment
//	/login.json Rails routes any extension as a format, Spring before 5.3 and Struts one of many
//
// An extension is cut off whichever it is: Rails checks the password of /login.xyz before it
// finds out that it knows no such format. A path that is meant with its extension still is
// compared, since a path has both forms.

// pathOf returns a target without its query. strings.IndexAny takes ten times the instructions.
func pathOf(target string) string {
	for _, mark := range [...]byte{'?', '#'} {
		if end := strings.IndexByte(target, mark); end >= 0 {
			target = target[:end]
		}
	}
	return target
}

// parameterStart returns the index of the first semicolon of a path and its length there,
// escaped or not; -1 if there is none. Escaped ones count because a proxy may decode them.
func parameterStart(path string) (at, length int) {
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == ';':
			return i, 1
		case path[i] == '%' && i+2 < len(path) && path[i+1] == '3' && path[i+2]|0x20 == 'b':
			return i, 3
		}
	}
	return -1, 0
}

// hasParameters reports whether a target's path has parameters.
func hasParameters(target string) bool {
	at, _ := parameterStart(pathOf(target))
	return at >= 0
}

// appendWithoutParameters appends a target's path as it was sent, each segment without its
// parameters.
func appendWithoutParameters(dst []byte, target string) []byte {
	path := pathOf(target)
	for {
		at, length := parameterStart(path)
		if at < 0 {
			return append(dst, path...)
		}
		dst = append(dst, path[:at]...)
		path = path[at+length:]
		if end := strings.IndexByte(path, '/'); end >= 0 {
			path = path[end:]
		} else {
			return dst
		}
	}
}

// appendFolded appends a path in normal form, in lower case and without a slash at its end.
// Letters beyond ASCII stay: no router's comparison knows them in a path as it was sent.
func appendFolded(dst []byte, path string) []byte {
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return appendLower(dst, path)
}

// withoutExtension returns a path without the extension of its last segment and the dots
// before it; empty if that has none, or nothing else, as "/.env".
func withoutExtension(path string) string {
	end := strings.LastIndexAny(path, "./")
	if end < 0 || path[end] == '/' {
		return ""
	}
	for end > 0 && path[end-1] == '.' {
		end--
	}
	if end == 0 || path[end-1] == '/' {
		return ""
	}
	return path[:end]
}

// appendFoldedValue appends the path of a target as the part of a key that folds: the barest
// form, so that no variant is a key of its own.
func appendFoldedValue(dst []byte, target string) []byte {
	var cut, normal, room [pathRoom]byte
	path := normalPath(normal[:0], unsafetext.String(appendWithoutParameters(cut[:0], target)))
	folded := unsafetext.String(appendFolded(room[:0], unsafetext.String(path)))
	if bare := withoutExtension(folded); bare != "" {
		folded = bare
	}
	return appendValue(dst, folded)
}

// parseFolded is parsePath for a rule that folds.
func parseFolded(text string) ([]string, flaw) {
	parts, wrong := parsePath(text)
	if wrong.text != "" {
		return nil, wrong
	}
	for i, part := range parts {
		parts[i] = string(appendLower(nil, part))
	}
	switch last := parts[len(parts)-1]; {
	case strings.Contains(strings.Join(parts, ""), ";"):
		return nil, flaw{fmt.Sprintf("%.80q never matches: fold cuts parameters off", text), "write it without the semicolon and what follows it"}
	case strings.HasSuffix(last, "/") && text != "/":
		return nil, flaw{fmt.Sprintf("%.80q never matches: fold cuts the slash at the end off", text), "write it without that slash"}
	}
	return parts, flaw{}
}

// checkFold refuses fold where it changes nothing or would be for a part of a rule.
func (c *compiler) checkFold(m *Meter, spec *Spec) {
	const fix = "set fold in the rule's match: it is for all its paths"
	if spec.Match.Not != nil && spec.Match.Not.Fold {
		c.problem("match.not.fold", flaw{"cannot be set here", fix})
	}
	for i := range spec.Costs {
		if match := &spec.Costs[i].Match; match.Fold || match.Not != nil && match.Not.Fold {
			c.problem(fmt.Sprintf("cost[%d].match.fold", i), flaw{"cannot be set here", fix})
		}
	}
	if m.fold && !m.paths && !slices.Contains(m.Attributes, Attribute{Field: edgeguard.FieldPath}) {
		c.problem("match.fold", flaw{"changes nothing: the rule names no path", "add path, or remove fold"})
	}
}
