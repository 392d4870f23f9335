package enforce

import (
	"bufio"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Format is how a list is written.
type Format uint8

// The formats. Single addresses are written bare, others as prefixes; all are
// netip's own text, in the order of the prefixes, IPv4 first.
const (
	// FormatPlain is a prefix a line and nothing else.
	FormatPlain Format = iota
	// FormatNginx is "deny PREFIX;" a line, for an include where deny is
	// allowed. nginx tries the lines one by one for every request: from some
	// hundred entries on, FormatNginxGeo is the better one.
	FormatNginx
	// FormatNginxGeo is "PREFIX 1;" a line, for an include inside a geo block,
	// which nginx compiles into a tree.
	FormatNginxGeo
	// FormatHAProxy is a pattern file, for "src -f FILE".
	FormatHAProxy
	// FormatHAProxyMap is "PREFIX 1" a line, for "src,map_ip(FILE)".
	FormatHAProxyMap
	// FormatIPSet is a script for "ipset restore": it fills new sets and swaps
	// them in.
	FormatIPSet
	// FormatNFT is a script for "nft -f": one transaction that makes or fills
	// a table with its sets, a chain and the rules that drop.
	FormatNFT
)

// layout is what is known of a format.
type layout struct {
	name   string
	kernel bool // it ends up in a packet filter
	timed  bool // entries carry the time that they have left
	socket bool // HAProxy's stats socket can take it
	head   string
	// before and after surround a prefix, one a line; a format that is
	// more than that has a program.
	before, after string
	program       func(w *bufio.Writer, name string, now time.Time, entries []Entry)
}

const heading = "# Written by edgeguard: changes made here are lost.\n"

var layouts = [...]layout{
	FormatPlain:      {name: "plain"},
	FormatNginx:      {name: "nginx", head: heading, before: "deny ", after: ";"},
	FormatNginxGeo:   {name: "nginx-geo", head: heading, after: " 1;"},
	FormatHAProxy:    {name: "haproxy", head: heading, socket: true},
	FormatHAProxyMap: {name: "haproxy-map", head: heading, after: " 1", socket: true},
	FormatIPSet:      {name: "ipset", head: heading, kernel: true, timed: true, program: writeIPSet},
	FormatNFT:        {name: "nft", head: heading, kernel: true, timed: true, program: writeNFT},
}

// formats lists the names of all formats.
func formats() []string {
	var names []string
	for _, l := range layouts {
		names = append(names, l.name)
	}
	return names
}

// ParseFormat reads a format's name.
func ParseFormat(name string) (Format, error) {
	i := slices.IndexFunc(layouts[:], func(l layout) bool { return l.name == name })
	if i < 0 {
		return 0, fmt.Errorf("unknown list format %q: use one of %s", name, strings.Join(formats(), ", "))
	}
	return Format(i), nil
}

// String returns the format's name as in the config.
func (f Format) String() string {
	if int(f) < len(layouts) {
		return layouts[f].name
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// write writes a whole list. Errors stay in w until its Flush.
func (f Format) write(w *bufio.Writer, name string, now time.Time, entries []Entry) {
	l := &layouts[f]
	w.WriteString(l.head)
	if l.program != nil {
		l.program(w, name, now, entries)
		return
	}
	for _, e := range entries {
		w.WriteString(l.before)
		writePrefix(w, e.Prefix)
		w.WriteString(l.after)
		w.WriteByte('\n')
	}
}

// writePrefix writes the bare address for a single one.
func writePrefix(w *bufio.Writer, p netip.Prefix) {
	if p.IsSingleIP() {
		w.Write(p.Addr().AppendTo(w.AvailableBuffer()))
		return
	}
	w.Write(p.AppendTo(w.AvailableBuffer()))
}

// prefixText is what writePrefix writes.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// secondsLeft rounds up, so that no client is let in early; an entry that is all
// but over gets one second, because 0 means for ever.
func secondsLeft(now, until time.Time) int64 {
	left := until.Sub(now)
	return max(int64((left+time.Second-1)/time.Second), 1)
}
