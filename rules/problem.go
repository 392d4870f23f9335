package rules

// Problem is one thing wrong with a [Spec].
type Problem struct {
	// Rule is the spec's index in the list given to [Compile].
	Rule int
	// Path names the field, as in "match.path[1]", by the names that the
	// config returns the fields.
	Path string
	// Offset is where in the field's text the problem begins, in characters; 0
	// where the field as a whole is meant.
	Offset int
	// Text says what is wrong, and Fix what to do about it.
	Text, Fix string
}

// String returns the whole in one line.
func (p Problem) String() string {
	return p.Path + ": " + p.Text + "; " + p.Fix
}
