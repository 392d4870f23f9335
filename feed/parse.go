// Package feed reads lists of addresses that others publish. It fetches them from servers
// and files ([Fetcher]), judges what it read against the list that was in force before, and
// keeps that list as bytes.
//
//	bytes ─Read─▶ Reading ─Judge─▶ in force, or awaits an operator
//
// Who publishes a list, or can change it on its way, chooses every byte of it. So no
// line can do more than name prefixes, each is judged by itself, and what is no list at
// all, such as an error page, changes nothing.
package feed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"edgeguard"
	"edgeguard/internal/safetext"
)

const (
	// MaxBytes is the largest list that is read, uncompressed.
	MaxBytes = 32 << 20
	// MaxEntries is how many prefixes a list may have, confirmed or not.
	MaxEntries = 1_000_000
	// maxLine is the longest line that can be an entry, its comment included.
	maxLine = 4096
	// goodLines is of how many lines one may be unreadable, and fewBad how many may be
	// in any case: a page of HTML, or a list of another form, has few lines that read.
	goodLines, fewBad = 10, 3
)

// The widest prefixes that a list may have: as those of a rule without more ado, and
// down to the second with `wide: true`. A /8 is the widest that anybody was ever given
// of IPv4, a /19 of IPv6.
const (
	widestV4, widestV6         = edgeguard.WidestV4, edgeguard.WidestV6
	widestEverV4, widestEverV6 = 8, 19
)

// Counts is what became of the lines of a list.
type Counts struct {
	Entries    int `json:"entries"`    // prefixes that the list has
	Twice      int `json:"twice"`      // lines that repeat one
	Special    int `json:"special"`    // lines that are, or hold, addresses that no client on the internet has
	Wide       int `json:"wide"`       // lines with a prefix that is too wide
	Unreadable int `json:"unreadable"` // lines that are no prefix and no address
}

// Left returns how many lines were left out.
func (c *Counts) Left() int { return c.Special + c.Wide + c.Unreadable }

// Reading is a list as it was read.
type Reading struct {
	List *List
	Counts
	// Bad is the first line that could not be read, cleaned for people, and BadLine its
	// number; 0 for none.
	Bad     string
	BadLine int

	wide bool
	all  []netip.Prefix
}

// Read reads a list: a prefix or an address a line, with comments behind #, ; or //, or
// JSON objects a line, each with a `cidr`. wide admits prefixes that are wider than a
// rule may block. The error says why the bytes are no list; then nothing of them may be
// used.
func Read(data []byte, wide bool) (*Reading, error) {
	r := &Reading{wide: wide}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for number := 1; len(data) > 0; number++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		if !r.line(line) {
			r.bad(number, line)
		}
		if len(r.all) > MaxEntries {
			return nil, fmt.Errorf("has more than %d entries, which is more than any list may have", MaxEntries)
		}
	}
	read := len(r.all) + r.Special + r.Wide
	if r.Unreadable > 0 && read == 0 || r.Unreadable > fewBad && r.Unreadable*goodLines > read+r.Unreadable {
		return nil, fmt.Errorf("is not a list: %d of %d lines are no address; line %d is %q", r.Unreadable, read+r.Unreadable, r.BadLine, r.Bad)
	}
	lines := len(r.all)
	r.List, r.all = newList(r.all), nil
	r.Entries = r.List.Len()
	r.Twice = lines - r.Entries
	return r, nil
}

// bad counts a line that could not be read.
func (r *Reading) bad(number int, line []byte) {
	if r.Unreadable++; r.Unreadable > 1 {
		return
	}
	const shown = 60
	text := strings.ToValidUTF8(string(line[:min(len(line), shown)]), "?")
	r.BadLine, r.Bad = number, strings.TrimSpace(safetext.Strip(text))
}

// line reads one line, and reports whether it could be read. One without an entry can.
func (r *Reading) line(line []byte) bool {
	if len(line) > maxLine {
		return false
	}
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '{' {
		return r.object(line)
	}
	if i := bytes.IndexAny(line, "#;"); i >= 0 {
		line = bytes.TrimSpace(line[:i])
	}
	// Two slashes are a comment where they begin a word: 5.6.7.8//24 is a mistake.
	if i := bytes.Index(line, []byte("//")); i == 0 || i > 0 && (line[i-1] == ' ' || line[i-1] == '\t') {
		line = bytes.TrimSpace(line[:i])
	}
	return len(line) == 0 || r.entry(string(line))
}

// object reads an entry that is a JSON object. What says that it describes the list is
// not one.
func (r *Reading) object(line []byte) bool {
	var one struct {
		CIDR string `json:"cidr"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &one); err != nil {
		return false
	}
	if one.CIDR == "" {
		return one.Type == "metadata"
	}
	return r.entry(one.CIDR)
}

// entry adds a prefix or an address. One with bits beyond its length is not read: its
// author may have meant the address, or the network.
func (r *Reading) entry(text string) bool {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return false
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	if p != p.Masked() {
		return false
	}
	switch {
	case inside(p):
		r.Special++
	case r.tooWide(p):
		r.Wide++
	case overlaps(p):
		r.Special++
	default:
		r.all = append(r.all, p)
	}
	return true
}

func (r *Reading) tooWide(p netip.Prefix) bool {
	usual, ever := widestV4, widestEverV4
	if p.Addr().Is6() {
		usual, ever = widestV6, widestEverV6
	}
	return p.Bits() < ever || p.Bits() < usual && !r.wide
}
