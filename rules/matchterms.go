package rules

// MatchTerm is one term of a match: its name in a config, and where a Match has its values.
type MatchTerm struct {
	Name   string
	Values func(*Match) *[]string
	// Numbers says that values are numbers or ranges of these.
	Numbers bool
	// OfCosts says that only the match of a cost has the term.
	OfCosts bool
	// ByProxies says that a proxy can count by it, from what [Terms] has of it.
	ByProxies bool
}

// MatchTerms are all terms with values, in the order in which they are written.
var MatchTerms = []MatchTerm{
	{Name: "kind", Values: func(m *Match) *[]string { return &m.Kind }, ByProxies: true},
	{Name: "host", Values: func(m *Match) *[]string { return &m.Host }, ByProxies: true},
	{Name: "method", Values: func(m *Match) *[]string { return &m.Method }, ByProxies: true},
	{Name: "path", Values: func(m *Match) *[]string { return &m.Path }, ByProxies: true},
	{Name: "status", Values: func(m *Match) *[]string { return &m.Status }, Numbers: true, ByProxies: true},
	{Name: "port", Values: func(m *Match) *[]string { return &m.Port }, Numbers: true},
	{Name: "referer", Values: func(m *Match) *[]string { return &m.Referer }, OfCosts: true},
	{Name: "fetch_site", Values: func(m *Match) *[]string { return &m.FetchSite }, OfCosts: true},
	{Name: "crawler", Values: func(m *Match) *[]string { return &m.Crawler }},
	{Name: "target", Values: func(m *Match) *[]string { return &m.Target }},
}

// uncountable returns the terms of a match, and of its not, by which no proxy can count.
func (m *Match) uncountable() (names []string) {
	for _, term := range MatchTerms {
		if !term.ByProxies && (*term.Values(m) != nil || m.Not != nil && *term.Values(m.Not) != nil) {
			names = append(names, term.Name)
		}
	}
	return names
}

// MatchesAll reports whether a rule counts every event of its kind.
func (s *Spec) MatchesAll() bool {
	if s.When != "" || s.Match.Not != nil {
		return false
	}
	for _, term := range MatchTerms {
		if term.Name != "kind" && len(*term.Values(&s.Match)) > 0 {
			return false
		}
	}
	return true
}
