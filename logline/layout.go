package logline

import "time"

// layout is a text format: what a line must have, and what may follow it.
type layout struct {
	head *program
	// loose is tried where the head does not fit; nil: nothing is.
	loose *program
	tail  *program // nil: nothing may follow
}

// parser returns the parser of one log. Zone is that of times that name none.
func (l layout) parser(zone *time.Location) parser {
	return &textParser{layout: l, clock: clock{zone: zone}}
}

// nginx compiles a log_format, as the string or as the whole directive.
func nginx(s string) (layout, error) {
	p, err := compileNginx(s)
	return layout{head: p}, err
}

// apache compiles a LogFormat, as the string or as the whole directive.
func apache(s string) (layout, error) {
	p, err := compileApache(s)
	return layout{head: p}, err
}

// combined and its kin are lenient on their right: whatever a server appends
// after the agent is passed over, and a line whose referer or agent is broken
// (a cut line, a server that does not escape) still counts, without an agent.
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

// combined returns the layout of the combined log format.
func combined() layout { return apacheText(commonHead, combinedTail) }

// common returns the layout of the common log format.
func common() layout { return apacheText(commonHead, commonTail) }

// apacheText compiles one of our own formats; they are constants, so that an
// error in one is ours and shows in the first test.
func apacheText(head, tail string) layout {
	h, err := compileApache(head)
	if err != nil {
		panic(err)
	}
	t, err := compileTail(tail)
	if err != nil {
		panic(err)
	}
	return layout{head: h, tail: t}
}

// vhostCombined returns the layout of the combined format behind a host, with its
// port or without.
func vhostCombined() layout {
	l := apacheText(vhostHead, combinedTail)
	l.loose = apacheText(vhostLoose, combinedTail).head
	return l
}
