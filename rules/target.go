package rules

import (
	"slices"
	"strings"

	"edgeguard"
)

// target is a set of what can stand where a request line has its target: the forms of RFC 9112,
// section 3.2, and what is no request line at all.
type target uint8

const (
	targetPath      target = 1 << iota
	targetAsterisk         // of the server as a whole: OPTIONS *
	targetAuthority        // a host without a path, as CONNECT has: a proxy is asked for
	targetOwn              // an absolute address of the site itself
	targetForeign          // one of another site: a proxy is asked for
	targetNotHTTP          // the bytes of another protocol
	targetTLS              // of TLS: apart, because browsers send them where a page has such an address
	targetAny       = 1<<iota - 1
)

var targetNames = []string{"path", "asterisk", "authority", "own", "foreign", "not_http", "tls"}

// targets compiles a match's term target, and writes it down.
func (c *matchCompiler) targets(any, none []string, own *Hosts) {
	if any == nil && none == nil {
		return
	}
	set := func(path string, values []string) (s target) {
		for _, name := range c.choices(path, values, targetNames) {
			s |= 1 << slices.Index(targetNames, name)
		}
		return s
	}
	in := target(targetAny)
	if any != nil {
		in = set(c.path+".target", any)
	}
	p := &c.compiled
	if p.target, p.own = in&^set(c.path+".not.target", none), own; in != 0 && p.target == 0 {
		c.problem(c.path+".not.target", takesAll)
	}
	var names []string
	for i, name := range targetNames {
		if p.target>>i&1 != 0 {
			names = append(names, name)
		}
	}
	text := "target=" + strings.Join(names, "|")
	if own != nil && p.target&(targetOwn|targetForeign) != 0 {
		text += " own=" + own.text
	}
	c.canonical = append(c.canonical, text)
}

// targetOf returns what the event's request has; 0 if it is not known. Whose an absolute address
// is needs the site's names: a log may write the site's own so, at each request.
func targetOf(ev *edgeguard.Event, own *Hosts) target {
	switch ev.Stray {
	case edgeguard.StrayTLS:
		return targetTLS
	case edgeguard.StrayBytes:
		return targetNotHTTP
	}
	path := ev.Path
	switch {
	case ev.Known&edgeguard.FieldPath == 0 || path == "":
		return 0
	case path[0] == '/':
		return targetPath
	case path == "*":
		return targetAsterisk
	case !strings.Contains(path, "://"):
		return targetAuthority
	case own == nil:
		return 0
	case own.hasHost(addressHost(path)):
		return targetOwn
	}
	return targetForeign
}
