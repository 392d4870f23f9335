package report

import (
	"context"
	"fmt"
	"io"
)

// Parts are the comparisons of loadtest's own programs.
type Parts struct{}

// part is one of them. Run puts its result into the report.
type part struct {
	name, title string
	run         func(context.Context, Options, io.Writer, *Parts) error
	result      func(*Parts) Result // nil where it was not run
}

// Result is what a part found.
type Result interface {
	Print(io.Writer) // the table for a terminal
}

// parts are in the order in which they run and are shown.
var parts = []part{}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// run takes the parts that are wanted. What a part cannot measure is in its result;
// an error ends the report.
func (p *Parts) run(ctx context.Context, o Options, notes io.Writer) error {
	if o.Goals {
		return nil
	}
	for _, one := range parts {
		if !o.wants(one.name, true) {
			continue
		}
		if err := one.run(ctx, o, notes, p); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}
