package scan

import "fmt"

// Unread is a program whose lines came, and none of them was understood.
type Unread struct {
	Program string
	Lines   uint64 // that look as if they should count
	Example string // one of them, printable
}

// String says it, and what to do.
func (u Unread) String() string {
	return fmt.Sprintf("%d or more lines of %s look as if they should count, and none has been understood, such as %q: check how the program writes its log", u.Lines, u.Program, u.Example)
}

// Understands is a parser that knows whose lines it passes over.
type Understands interface {
	// Watch has that noted from now on, which takes longer.
	Watch()
	// Unread returns the programs of which no line has been understood, though enough came to tell.
	Unread() []Unread
	// Quiet returns how many lines were passed over for a reason: they are of a program whose lines
	// are read, or beside these, and look like nothing that should count.
	Quiet() uint64
}
