package console

import (
	"html/template"
	"regexp"
)

// groups are the colons of an IPv6 address: a time of day has fewer of them.
var (
	ipv6   = regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){3,7}`)
	colons = regexp.MustCompile(`:+`)
	clock  = regexp.MustCompile(`^\d\d:\d\d:\d\d:$`) // before what is said of it
)

// breakable returns a text as HTML in which an IPv6 address may go on in the next line
// behind a colon, and what is copied of it stays as it is.
func breakable(text string) template.HTML {
	return template.HTML(ipv6.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(address string) string {
		if clock.MatchString(address) {
			return address
		}
		return colons.ReplaceAllString(address, "$0<wbr>")
	}))
}
