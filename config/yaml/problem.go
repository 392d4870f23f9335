package yaml

import "fmt"

// Fault is one thing that is wrong, or worth a warning, and where.
type Fault struct {
	File         string
	Line, Column int    // from 1; 0 where the file as a whole is meant
	Path         string // the field, as in "rules[1].match.path[0]"
	Text         string // what is wrong
	Fix          string // what to do about it
}

// String returns "file:line:column: path: text; fix".
func (p Fault) String() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if p.Path != "" {
		s += ": " + p.Path
	}
	s += ": " + p.Text
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}
