package cloudflare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"edgeguard/migrate"
)

// Bounds on an expression.
const (
	mostText  = 8192
	mostDepth = 40
)

// parse reads an expression. The error says what of it cannot be said, and where.
func parse(text string) (*migrate.Condition, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("is longer than %d bytes", mostText)
	}
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	if p.peek().text == "true" && len(tokens) == 2 {
		return migrate.Always(), nil
	}
	n, err := p.or(0)
	if err == nil && p.peek().kind != 0 {
		err = p.refuse(p.peek(), "is not expected here")
	}
	return n, err
}

// parser reads words from the first to the last; the last one is the end.
type parser struct{ tokens []token }

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) take() token {
	t := p.tokens[0]
	if t.kind != 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// is takes the next word if it is one of these, and no string.
func (p *parser) is(words ...string) bool {
	if t := p.peek(); t.kind == 's' || !slices.Contains(words, t.text) || t.kind == 0 {
		return false
	}
	p.take()
	return true
}

// refuse says what is wrong with a word.
func (p *parser) refuse(t token, says string) error {
	if t.kind == 0 {
		return fmt.Errorf("at character %d: the expression ends too early", t.at)
	}
	return fmt.Errorf("at character %d: %q %s", t.at, t.text, says)
}

func (p *parser) or(depth int) (*migrate.Condition, error) {
	return p.several(depth, p.and, []string{"or", "||"}, migrate.AnyOf)
}

func (p *parser) and(depth int) (*migrate.Condition, error) {
	n, err := p.several(depth, p.not, []string{"and", "&&"}, migrate.AllOf)
	if t := p.peek(); err == nil && t.kind != 's' && (t.text == "xor" || t.text == "^^") {
		err = p.refuse(t, "has no operator here")
	}
	return n, err
}

// several reads parts with one of the words between each two.
func (p *parser) several(depth int, one func(int) (*migrate.Condition, error), words []string, join func(...*migrate.Condition) *migrate.Condition) (*migrate.Condition, error) {
	var parts []*migrate.Condition
	for {
		n, err := one(depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		if !p.is(words...) {
			return join(parts...), nil
		}
	}
}

func (p *parser) not(depth int) (*migrate.Condition, error) {
	if depth >= mostDepth {
		return nil, p.refuse(p.peek(), fmt.Sprintf("is nested more than %d levels deep", mostDepth))
	}
	switch {
	case p.is("not", "!"):
		n, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return migrate.Negate(n), nil
	case p.is("("):
		n, err := p.or(depth + 1)
		if err == nil && !p.is(")") {
			err = p.refuse(p.peek(), "stands where ) is expected")
		}
		return n, err
	}
	return p.comparison()
}

// field is the left side of a comparison.
type field struct {
	name  migrate.ConditionField
	token token
	fold  bool // of lower(field)
	uri   bool // path and query together
}

// fields are those that edgeguard knows.
var fields = map[string]migrate.ConditionField{
	"http.request.uri.path":  migrate.Path,
	"http.request.uri":       migrate.Path,
	"http.request.uri.query": migrate.Query,
	"http.host":              migrate.Host,
	"http.request.method":    migrate.Method,
	"http.user_agent":        migrate.Agent,
	"http.response.code":     migrate.Status,
}

// cannot says of fields and functions why no rule has them, by their beginning.
var cannot = []struct{ begins, says string }{
	{"ip.src.", "is a fact about addresses that edgeguard does not have"},
	{"ip.geoip.", "is a fact about addresses that edgeguard does not have"},
	{"ip.src", "compares addresses, for which rules have no term: what is exempt belongs into `allowlist`"},
	{"cf.client.bot", "is Cloudflare's judgement: see `crawler` in docs/rules.md"},
	{"cf.bot_management.verified_bot", "is Cloudflare's judgement: see `crawler` in docs/rules.md"},
	{"cf.", "is known to Cloudflare alone"},
	{"http.request.body", "is in the body, which edgeguard does not read"},
	{"http.request.headers", "is a header, for which rules have no term"},
	{"http.request.cookies", "is a header, for which rules have no term"},
	{"http.cookie", "is a header, for which rules have no term"},
	{"http.referer", "is a header, for which rules have no term outside of `cost`"},
}

func (p *parser) field() (field, error) {
	f := field{token: p.take()}
	if f.token.kind == 'w' && f.token.text == "lower" && p.is("(") {
		f.fold = true
		f.token = p.take()
		if !p.is(")") {
			return f, p.refuse(p.peek(), "stands where ) is expected: lower() takes one field")
		}
	}
	name, known := fields[f.token.text]
	if f.token.kind == 'w' && known {
		f.name, f.uri = name, f.token.text == "http.request.uri"
		return f, nil
	}
	says := "is not a field that rules have"
	for _, c := range cannot {
		if strings.HasPrefix(f.token.text, c.begins) {
			says = c.says
			break
		}
	}
	return f, p.refuse(f.token, says)
}

func (p *parser) comparison() (*migrate.Condition, error) {
	if t := p.peek(); t.kind == 'w' && (t.text == "starts_with" || t.text == "ends_with") {
		return p.function()
	}
	f, err := p.field()
	if err != nil {
		return nil, err
	}
	operator := p.take()
	if operator.kind == 's' {
		return nil, p.refuse(operator, "stands where an operator is expected")
	}
	switch operator.text {
	case "eq", "==":
		return p.value(f, migrate.Equals)
	case "ne", "!=":
		n, err := p.value(f, migrate.Equals)
		if err != nil {
			return nil, err
		}
		return migrate.Negate(n), nil
	case "contains":
		return p.value(f, migrate.Contains)
	case "lt", "<", "le", "<=", "gt", ">", "ge", ">=":
		return p.order(f, operator)
	case "in":
		return p.list(f)
	case "wildcard":
		f.fold = true
		return p.wildcard(f)
	case "strict":
		if t := p.peek(); p.is("wildcard") {
			if value := p.peek(); f.fold && strings.ToLower(value.text) != value.text {
				return nil, p.refuse(t, "compares lower() with upper-case letters")
			}
			return p.wildcard(f)
		}
	case "matches", "~":
		return p.regular(f, operator)
	}
	return nil, p.refuse(operator, "is not an operator that rules have")
}

// literal is a regular expression that is a text, at the beginning, the end, both or
// anywhere. It has no character whose meaning depends on who reads it.
var literal = regexp.MustCompile(`^(\^?)([A-Za-z0-9/_-]+)(\$?)$`)

// regular reads a regular expression that is a text.
func (p *parser) regular(f field, operator token) (*migrate.Condition, error) {
	t := p.peek()
	m := literal.FindStringSubmatch(t.text)
	if t.kind != 's' || m == nil || f.name == migrate.Status {
		return nil, p.refuse(operator, "is a regular expression of Rust's: write it as `when: path matches`, where edgeguard's can say it")
	}
	p.take()
	t.text = m[2]
	return p.text(f, map[string]migrate.Op{"": migrate.Contains, "^": migrate.Begins, "$": migrate.Ends, "^$": migrate.Equals}[m[1]+m[3]], t)
}

// function reads starts_with(field, "text") or ends_with.
func (p *parser) function() (*migrate.Condition, error) {
	name := p.take()
	if !p.is("(") {
		return nil, p.refuse(p.peek(), "stands where ( is expected")
	}
	f, err := p.field()
	if err != nil {
		return nil, err
	}
	if !p.is(",") {
		return nil, p.refuse(p.peek(), "stands where a comma is expected")
	}
	op := migrate.Begins
	if name.text == "ends_with" {
		op = migrate.Ends
	}
	n, err := p.value(f, op)
	if err == nil && !p.is(")") {
		err = p.refuse(p.peek(), "stands where ) is expected")
	}
	return n, err
}

// value reads the right side of a comparison.
func (p *parser) value(f field, op migrate.Op) (*migrate.Condition, error) {
	t := p.take()
	if f.name == migrate.Status {
		code, ok := number(t)
		if !ok || op != migrate.Equals {
			return nil, p.refuse(t, "cannot be compared with a status in this way")
		}
		return p.said(t)(migrate.StatusIs(code, code))
	}
	if t.kind != 's' {
		return nil, p.refuse(t, "stands where a string is expected")
	}
	return p.text(f, op, t)
}

// text compares a field with one text.
func (p *parser) text(f field, op migrate.Op, t token) (*migrate.Condition, error) {
	if f.fold && strings.ToLower(t.text) != t.text {
		return nil, p.refuse(t, "has upper-case letters, and lower() leaves none to match")
	}
	if !f.uri {
		return p.said(t)(migrate.TextIs(f.name, op, t.text, f.fold))
	}
	path, err := p.said(t)(migrate.TextIs(migrate.Path, op, t.text, f.fold))
	switch {
	case err != nil || op == migrate.Begins:
		return path, err // it has no question mark, so it ends before the query
	case op != migrate.Contains:
		return nil, p.refuse(f.token, "is path and query together, for which rules have no term: compare http.request.uri.path")
	}
	query, err := p.said(t)(migrate.TextIs(migrate.Query, op, t.text, f.fold))
	if err != nil {
		return nil, err
	}
	return migrate.AnyOf(path, query), nil
}

// said returns a function that adds a place to an error.
func (p *parser) said(t token) func(*migrate.Condition, error) (*migrate.Condition, error) {
	return func(n *migrate.Condition, err error) (*migrate.Condition, error) {
		if err != nil {
			return nil, fmt.Errorf("at character %d: %q: %w", t.at, t.text, err)
		}
		return n, nil
	}
}

// order compares a status with a number.
func (p *parser) order(f field, operator token) (*migrate.Condition, error) {
	t := p.take()
	code, ok := number(t)
	if f.name != migrate.Status || !ok {
		return nil, p.refuse(operator, "can compare a status with a number alone")
	}
	low, high := 0, 9999
	switch operator.text {
	case "lt", "<":
		high = code - 1
	case "le", "<=":
		high = code
	case "gt", ">":
		low = code + 1
	default:
		low = code
	}
	return p.said(t)(migrate.StatusIs(low, high))
}

// number returns what a word says, if it is a decimal number of a few digits. With a zero
// before it, it would be one to the base of eight.
func number(t token) (int, bool) {
	n, err := strconv.ParseUint(t.text, 10, 16)
	return int(n), err == nil && t.kind == 'w' && n <= 9999 && t.text == strconv.FormatUint(n, 10)
}

// list reads a set of values in braces.
func (p *parser) list(f field) (*migrate.Condition, error) {
	if !p.is("{") {
		return nil, p.refuse(p.peek(), "is a list that the file does not have")
	}
	var parts []*migrate.Condition
	for !p.is("}") {
		n, err := p.member(f)
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
	}
	if len(parts) == 0 {
		return nil, p.refuse(f.token, "is compared with an empty set")
	}
	return migrate.AnyOf(parts...), nil
}

// member reads a value of a set, or a range of statuses.
func (p *parser) member(f field) (*migrate.Condition, error) {
	if f.name != migrate.Status {
		return p.value(f, migrate.Equals)
	}
	first := p.take()
	last := first
	if p.is("..") {
		last = p.take()
	}
	low, ok := number(first)
	high, ok2 := number(last)
	if !ok || !ok2 {
		return nil, p.refuse(first, "is not a status")
	}
	return p.said(first)(migrate.StatusIs(low, high))
}

// wildcard reads a pattern: a star stands for any run of characters, and \* for itself.
func (p *parser) wildcard(f field) (*migrate.Condition, error) {
	t := p.take()
	if t.kind != 's' || f.name == migrate.Status || f.uri {
		return nil, p.refuse(t, "cannot be a pattern of this field")
	}
	stars := []string{""}
	for i := 0; i < len(t.text); i++ {
		c := t.text[i]
		switch {
		case c == '\\' && i+1 < len(t.text) && (t.text[i+1] == '*' || t.text[i+1] == '\\'):
			i++
			c = t.text[i]
		case c == '\\', c == '*' && i+1 < len(t.text) && t.text[i+1] == '*':
			return nil, p.refuse(t, "is not a valid pattern")
		case c == '*':
			stars = append(stars, "")
			continue
		}
		stars[len(stars)-1] += string([]byte{c})
	}
	letters := strings.ToLower(t.text) != strings.ToUpper(t.text)
	return p.said(t)(migrate.TextLike(f.name, stars, f.fold && letters))
}
