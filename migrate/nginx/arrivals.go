package nginx

import (
	"fmt"
	"regexp"
	"strings"
)

// arrivals says which directives move requests for other paths into a location, before
// any limit_req has seen them. nginx counts them there, and a rule goes by the path that
// a client asked for. One that a limit_req has seen is not counted again.
func (im *importer) arrivals(p *place) []string {
	mine, err := pathOf(p.location)
	if err != nil || limited(p.server) || limited(im.http) {
		return nil
	}
	from := []*ConfNode{im.http, p.server}
	var all []string
	say := func(n *ConfNode) {
		if mine.reached(n) {
			all = append(all, fmt.Sprintf("WARNING: %s at %s brings requests for other paths here. nginx counts these, too, and this rule does not: add their paths to it.",
				strings.Join(n.Words, " "), n.Place()))
		}
	}
	for _, l := range p.server.Directives("location") {
		if l != p.location && !limited(l) {
			from = append(from, l)
		}
	}
	for i, block := range from {
		for _, n := range block.Inner {
			say(n)
			if i > 1 { // not the servers of http, nor the locations of a server
				n.EachBelow(say)
			}
		}
	}
	return all
}

// reached reports whether a directive may move a request here.
func (u uri) reached(n *ConfNode) bool {
	last := n.Word(len(n.Words) - 1)
	switch n.Word(0) {
	case "try_files", "error_page":
		return u.takes(last)
	case "rewrite":
		return (len(n.Words) == 3 || last == "last") && u.takes(n.Word(2))
	case "index":
		for _, file := range n.Words[1:] {
			if path := "/" + strings.TrimPrefix(file, "/"); u.isPrefix() && strings.HasSuffix(u.text, path) || !u.isPrefix() && u.takes(path) {
				return true
			}
		}
	}
	return false
}

// takes reports whether a location may serve a path with variables. Which of several
// locations does is not asked.
func (u uri) takes(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	known, _, variable := strings.Cut(path, "$")
	switch {
	case !strings.HasPrefix(path, "/"):
		return variable && known == "" // a status, a URL or a named location
	case u.isRegexp():
		pattern, err := regexp.Compile(map[bool]string{true: "(?i)"}[u.kind == "~*"] + u.text)
		return err != nil || variable || pattern.MatchString(path)
	case variable:
		return strings.HasPrefix(known, u.text) || strings.HasPrefix(u.text, known)
	case u.kind == "=":
		return path == u.text
	}
	return strings.HasPrefix(path, u.text)
}
