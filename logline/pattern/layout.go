package pattern

import (
	"time"

	"edgeguard/logline/scan"
)

// Layout is a text format: what a line must have, and what may follow it.
type Layout struct {
	head *program
	// loose is tried where the head does not fit; nil: nothing is.
	loose *program
	tail  *program // nil: nothing may follow
}

// Parser returns the parser of one log. Zone is that of times that name none.
func (l Layout) Parser(zone *time.Location) scan.LineParser {
	return &parser{layout: l, clock: scan.Clock{Zone: zone}}
}

// Nginx compiles a log_format, as the string or as the whole directive.
func Nginx(s string) (Layout, error) {
	p, err := compileNginx(s)
	return Layout{head: p}, err
}

// Apache compiles a LogFormat, as the string or as the whole directive.
func Apache(s string) (Layout, error) {
	p, err := compileApache(s)
	return Layout{head: p}, err
}

// The combined format and its kin are lenient on their right. What a server appends
// after the agent is passed over. A line whose referer or agent is broken (a cut
// line, a server that does not escape) still counts, without an agent.
const (
	commonHead   = `%h %l %u %t "%r" %>s`
	commonTail   = ` %b`
	combinedTail = ` %b "%{Referer}i" "%{User-Agent}i"`
	// Where the host is as the client wrote it, an older server may have let him
	// write a blank, so that a user's name and it leave two readings. A port that
	// the server writes behind the host shows where that ends: no server lets a
	// colon into a host's name.
	vhostHead  = `%v:%p %h %l %u %t "%r" %>s`
	vhostLoose = `%V %h %l %u %t "%r" %>s`
)

// Combined returns the layout of the combined log format.
func Combined() Layout { return apacheText(commonHead, combinedTail) }

// Common returns the layout of the common log format.
func Common() Layout { return apacheText(commonHead, commonTail) }

// apacheText compiles one of our own formats; they are constants, so that an
// error in one is ours and shows in the first test.
func apacheText(head, tail string) Layout {
	h, err := compileApache(head)
	if err != nil {
		panic(err)
	}
	t, err := compileTail(tail)
	if err != nil {
		panic(err)
	}
	return Layout{head: h, tail: t}
}

// VhostCombined returns the layout of the combined format behind a host, with its
// port or without.
func VhostCombined() Layout {
	l := apacheText(vhostHead, combinedTail)
	l.loose = apacheText(vhostLoose, combinedTail).head
	return l
}
