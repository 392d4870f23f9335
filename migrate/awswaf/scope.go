package awswaf

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"edgeguard/internal/safetext"
	"edgeguard/migrate"
)

// mostStatements bounds a scope-down statement: an expression has at most 200 parts.
const mostStatements = 100

// scope reads which requests AWS counts.
func (im *importer) scope(out *migrate.Draft, s *migrate.JSONValue) {
	down := s.Field("ScopeDownStatement")
	if down == nil {
		return
	}
	read := scopeReader{importer: im, out: out, left: mostStatements}
	n := read.statement("ScopeDownStatement", down)
	if len(out.Refused) > 0 || n == nil {
		return
	}
	var err error
	if out.Spec.Match, out.Spec.When, err = n.Write(); err != nil {
		out.Refuse("ScopeDownStatement: %v", err)
		return
	}
	out.NoteDecision("ScopeDownStatement: match, and when for what match cannot say.")
}

// scopeReader reads one scope-down statement.
type scopeReader struct {
	*importer
	out  *migrate.Draft
	left int // how many statements may still be read
}

// statement reads a statement; nil where it was refused.
func (r *scopeReader) statement(path string, v *migrate.JSONValue) *migrate.Condition {
	names := v.Names()
	if r.left--; r.left < 0 {
		if r.left == -1 {
			r.out.Refuse("ScopeDownStatement has more than %d statements", mostStatements)
		}
		return nil
	}
	if len(names) != 1 {
		r.out.Refuse("%s is not one statement", path)
		return nil
	}
	inner := v.Field(names[0])
	path += "." + names[0]
	switch names[0] {
	case "AndStatement", "OrStatement":
		return r.several(path, inner, names[0] == "AndStatement")
	case "NotStatement":
		if n := r.statement(path, inner.Field("Statement")); n != nil {
			return migrate.Negate(n)
		}
		return nil
	case "ByteMatchStatement":
		return r.byteMatch(path, inner)
	}
	r.out.Refuse("%s%s", path, cannot[names[0]])
	return nil
}

// cannot says of statements why no rule has them.
var cannot = map[string]string{
	"GeoMatchStatement":                 ": edgeguard does not know countries",
	"AsnMatchStatement":                 ": edgeguard does not know networks' numbers",
	"IPSetReferenceStatement":           ": rules have no term for addresses; what is exempt belongs into `allowlist`",
	"LabelMatchStatement":               ": labels come from rules that are not imported",
	"RegexMatchStatement":               ": write it as `when: path matches`, where edgeguard's regular expressions can say it",
	"RegexPatternSetReferenceStatement": ": the file does not have the pattern set",
	"SizeConstraintStatement":           ": sizes are not imported",
	"SqliMatchStatement":                ": edgeguard does not look for injections",
	"XssMatchStatement":                 ": edgeguard does not look for injections",
}

func (r *scopeReader) several(path string, v *migrate.JSONValue, all bool) *migrate.Condition {
	var parts []*migrate.Condition
	list := v.Field("Statements").Items()
	for _, item := range list {
		if n := r.statement(path, item); n != nil {
			parts = append(parts, n)
		}
	}
	switch {
	case len(list) == 0:
		r.out.Refuse("%s has no Statements", path)
		return nil
	case len(parts) < len(list):
		return nil
	case all:
		return migrate.AllOf(parts...)
	}
	return migrate.AnyOf(parts...)
}

// positions are the comparisons of AWS.
var positions = map[string]migrate.Op{
	"EXACTLY": migrate.Equals, "STARTS_WITH": migrate.Begins, "ENDS_WITH": migrate.Ends, "CONTAINS": migrate.Contains,
}

func (r *scopeReader) byteMatch(path string, v *migrate.JSONValue) *migrate.Condition {
	field, ok := r.field(path, v.Field("FieldToMatch"))
	if !ok {
		return nil
	}
	position, _ := v.Field("PositionalConstraint").Text()
	op, known := positions[position]
	if !known {
		r.out.Refuse("%s: PositionalConstraint %q cannot be said", path, position)
		return nil
	}
	text, ok := v.Field("SearchString").Text()
	if !ok {
		r.out.Refuse("%s has no SearchString", path)
		return nil
	}
	if text, ok = r.decode(path, text); !ok {
		return nil
	}
	allowed := []string{"NONE", "LOWERCASE"}
	if field == migrate.Path {
		allowed = append(allowed, "URL_DECODE", "NORMALIZE_PATH")
	}
	fold := slices.Contains(transformed(r.out, path, v, allowed...), "LOWERCASE")
	if fold && strings.ToLower(text) != text {
		r.out.Refuse("%s: the search string %q has upper-case letters, and LOWERCASE leaves none to match", path, text)
		return nil
	}
	n, err := migrate.TextIs(field, op, text, fold)
	if err != nil {
		r.out.Refuse("%s: %q: %v", path, text, err)
		return nil
	}
	return n
}

// field reads what of a request is compared.
func (r *scopeReader) field(path string, v *migrate.JSONValue) (migrate.ConditionField, bool) {
	names := v.Names()
	if len(names) != 1 {
		r.out.Refuse("%s: FieldToMatch is not one field", path)
		return "", false
	}
	inner := v.Field(names[0])
	switch names[0] {
	case "UriPath":
		return migrate.Path, true
	case "Method":
		return migrate.Method, true
	case "QueryString":
		return migrate.Query, true
	case "SingleHeader":
		name, _ := inner.Field("Name").Text()
		switch strings.ToLower(name) {
		case "host":
			return migrate.Host, true
		case "user-agent":
			return migrate.Agent, true
		}
		r.out.Refuse("%s: rules have no term for the header %q", path, name)
		return "", false
	}
	r.out.Refuse("%s: FieldToMatch %s has no term in a rule", path, names[0])
	return "", false
}

// inOrder returns the transformations in the order in which AWS applies them. LOWERCASE
// must be the last: what is decoded after it may be in upper case.
func inOrder(out *migrate.Draft, place string, kinds map[uint32]string, order []uint32, allowed []string) []string {
	slices.Sort(order)
	var all []string
	for i, priority := range order {
		kind := kinds[priority]
		if !slices.Contains(allowed, kind) {
			out.Refuse("%s: the text transformation %s cannot be said", place, kind)
		}
		if kind == "LOWERCASE" && slices.ContainsFunc(order[i+1:], func(p uint32) bool { return kinds[p] != "NONE" && kinds[p] != "LOWERCASE" }) {
			out.Refuse("%s: a text transformation follows LOWERCASE", place)
		}
		all = append(all, kind)
	}
	return all
}

// decideEncoding finds out how the search strings of a file are written, if nobody said
// it: as base64 only if all of them can be. AWS lets them be bytes that are no text.
func (im *importer) decideEncoding(list []*migrate.JSONValue) {
	var all []string
	for _, v := range list {
		v.EachText("SearchString", func(text string) { all = append(all, text) })
	}
	plain := func(text string) bool { _, err := base64.StdEncoding.Strict().DecodeString(text); return err != nil }
	hidden := func(text string) bool { _, ok := fromBase64(text); return ok }
	if im.encoding == Auto && len(all) > 0 {
		switch {
		case slices.ContainsFunc(all, plain):
			im.encoding = Plain
		case im.byCLI:
			im.encoding = Base64
		case !slices.ContainsFunc(all, hidden): // in base64, none would be a text
			im.encoding = Plain
		}
	}
	says := map[Encoding]string{
		Plain:  "Search strings are taken as they are written, and not as base64.",
		Base64: "Search strings are decoded from base64, as the AWS CLI prints them.",
	}[im.encoding]
	if len(all) > 0 && says != "" {
		im.report.Notes = append(slices.Clone(im.report.Notes), says)
	}
}

// decode returns a search string as it is compared.
func (r *scopeReader) decode(path, text string) (string, bool) {
	if r.encoding == Plain {
		return text, true
	}
	decoded, ok := fromBase64(text)
	switch {
	case !ok && r.encoding == Auto:
		r.out.Refuse("%s: the search string %q may be a text, or bytes in base64: say it with --search-strings", path, text)
	case !ok:
		r.out.Refuse("%s: the search string %q is not base64 of a text", path, text)
	case r.encoding == Auto:
		r.out.Refuse("%s: the search string %q may be a text, or %q in base64: say it with --search-strings", path, text, decoded)
		ok = false
	}
	return decoded, ok
}

// fromBase64 decodes a text, if it is that of something that people write.
func fromBase64(text string) (string, bool) {
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	return string(decoded), err == nil && utf8.Valid(decoded) && safetext.Plain(string(decoded)) && text != ""
}
