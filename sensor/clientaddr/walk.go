package clientaddr

import (
	"net/netip"
	"strings"
)

// list says how a header's lines are divided.
type list uint8

const (
	noList        list = iota // one address
	plainList                 // addresses between commas
	forwardedList             // RFC 7239: elements between commas, which quotes may hide
)

const (
	// maxElement bounds what is read to find one hop: an address with port,
	// quotes and, in Forwarded, the parameters beside it.
	maxElement = 512
	// maxEmpty bounds the empty elements, which RFC 9110 section 5.6.1 tells
	// to skip.
	maxEmpty = MaxHops
)

// walk reads a header's lines from the right. Left to right would let a client
// hide the proxies' words behind a quote that it opens and never closes.
type walk struct {
	lines []string
	list  list
	line  string // what is left of the line being read
	in    bool   // a line is being read
	empty int
}

// next returns the next address to the left; false at the end of the header or
// at something that is not an address.
func (w *walk) next() (netip.Addr, bool) {
	for {
		element, ok := w.element()
		if !ok {
			return netip.Addr{}, false
		}
		switch {
		case element != "":
			return w.addr(element)
		case w.empty == maxEmpty:
			return netip.Addr{}, false
		}
		w.empty++
	}
}

func (w *walk) addr(element string) (netip.Addr, bool) {
	if w.list == forwardedList {
		return forwardedFor(element)
	}
	return ParseAddr(element)
}

// element cuts the right-most element off what is left, without the blanks
// around it.
func (w *walk) element() (string, bool) {
	if !w.in {
		if len(w.lines) == 0 {
			return "", false
		}
		last := len(w.lines) - 1
		w.line, w.lines, w.in = w.lines[last], w.lines[:last], true
	}
	near := w.line[max(0, len(w.line)-maxElement):]
	comma := strings.LastIndexByte(near, ',')
	if w.list == forwardedList {
		comma = lastOutsideQuotes(near, ',')
	}
	if comma < 0 {
		if len(near) < len(w.line) {
			return "", false // too long to be a hop
		}
		w.in = false
		return trim(near), true
	}
	w.line = w.line[:len(w.line)-len(near)+comma]
	return trim(near[comma+1:]), true
}

// lastOutsideQuotes returns the index of the right-most separator that no quoted
// string holds, seen from the right; -1 if there is none.
func lastOutsideQuotes(s string, separator byte) int {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == '"' && !escaped(s, i):
			quoted = !quoted
		case s[i] == separator && !quoted:
			return i
		}
	}
	return -1
}

// escaped reports whether an odd number of backslashes precedes s[i].
func escaped(s string, i int) bool {
	n := 0
	for i > n && s[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func trim(s string) string { return strings.Trim(s, " \t") }
