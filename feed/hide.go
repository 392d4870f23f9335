package feed

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
)

// leastSecret is the shortest part of a URL or header that is taken for a secret.
const leastSecret = 8

// HideSecrets returns an answer's text without what the URL and the header file have of secrets,
// and whether it had any: servers say whose token they refuse, and that is logged.
func (s *FetchSettings) HideSecrets(text []byte) (_ []byte, found bool) {
	for _, secret := range s.secrets() {
		if bytes.Contains(text, []byte(secret)) {
			text, found = bytes.ReplaceAll(text, []byte(secret), []byte("…")), true
		}
	}
	return text, found
}

// secrets returns what may be one, the longest forms first.
func (s *FetchSettings) secrets() []string {
	return slices.DeleteFunc(s.parts(), func(part string) bool { return len(part) < leastSecret })
}

func (s *FetchSettings) parts() (all []string) {
	if s.HeaderFile != "" {
		if _, value, err := readHeader(s.HeaderFile); err == nil {
			all = append(append(all, value), strings.Fields(value)...)
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return all
	}
	all = append(all, strings.Trim(u.RequestURI(), "/"))
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	return append(all, strings.Split(u.Path, "/")...)
}
