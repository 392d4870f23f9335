package evidence

import (
	"fmt"
	"strings"
	"time"

	"edgeguard/rules"
)

// encode writes a path as a rule has it, in plain ASCII: escapes for all but what a
// path may have unescaped (RFC 3986), so that nothing of it is read as more than a path.
func encode(path string) string {
	var out strings.Builder
	for i := range len(path) {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/-._~!$&()+,;=:@", c) >= 0 {
			out.WriteByte(c)
			continue
		}
		fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}

// pattern matches a path, and what follows the name of a script.
func pattern(path string) string {
	if strings.HasSuffix(path, ".php") {
		return encode(path) + "*"
	}
	return encode(path)
}

// RuleText returns a rule as lines for the list of rules in a config.
func (r *Proposed) RuleText() string {
	var out strings.Builder
	fmt.Fprintf(&out, "  # %s\n", r.Says)
	fmt.Fprintf(&out, "  - name: %s\n    match:\n%s", quote(r.Spec.Name), match(&r.Spec.Match, "      "))
	fmt.Fprintf(&out, "    window: %s\n    threshold: %d\n", span(r.Spec.Window), r.Spec.Threshold)
	fmt.Fprintf(&out, "    action: %s # reports, and blocks once it is `block`\n", r.Spec.Action)
	return out.String()
}

// match writes the terms that drafts have.
func match(m *rules.Match, indent string) string {
	var out strings.Builder
	for _, term := range []struct {
		name   string
		values []string
	}{{"method", m.Method}, {"status", m.Status}, {"path", m.Path}} {
		if len(term.values) == 0 {
			continue
		}
		var quoted []string
		for _, v := range term.values {
			quoted = append(quoted, quote(v))
		}
		fmt.Fprintf(&out, "%s%s: [%s]\n", indent, term.name, strings.Join(quoted, ", "))
	}
	if m.Not != nil {
		fmt.Fprintf(&out, "%snot:\n%s", indent, match(m.Not, indent+"  "))
	}
	return out.String()
}

// quote writes a text as YAML. The texts are ASCII without a quote or backslash:
// see Encode and nameOf.
func quote(text string) string { return `"` + text + `"` }

func span(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
