package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin/call"
)

// Period is the time that --since and --until of a command name.
type Period struct{ since, until string }

// Flags declares --since and --until on c, for what it shows.
func (p *Period) Flags(c *cobra.Command, what string) {
	c.Flags().StringVar(&p.since, "since", "", what+" since `TIME`: how long ago, such as 10m, 24h or 30d, or a time, such as 02:14Z or 2026-03-01T12:00:00Z")
	c.Flags().StringVar(&p.until, "until", "", what+" before `TIME`, in the same way")
}

// Given reports whether one of the flags was given.
func (p *Period) Given() bool { return p.since != "" || p.until != "" }

// Read returns the two times, zero where a flag was not given. An error is a mistake on the
// command line of c.
func (p *Period) Read(c *cobra.Command, now time.Time) (from, to time.Time, err error) {
	if from, err = moment(now, p.since); err != nil {
		return from, to, Usage(fmt.Errorf("%s: --since %w", c.Name(), err))
	}
	if to, err = moment(now, p.until); err != nil {
		return from, to, Usage(fmt.Errorf("%s: --until %w", c.Name(), err))
	}
	if !to.IsZero() && !to.After(from) {
		return from, to, Usage(fmt.Errorf("%s: --until %s is not after --since %s", c.Name(), p.until, p.since))
	}
	return from, to, nil
}

// moment reads a time, as tables print it, too, the last one of that hour and minute, or how
// long it is before now; the zero time of an empty text.
func moment(now time.Time, text string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if clock, err := time.Parse("15:04Z07:00", text); err == nil {
		return time.Unix(now.Unix()-(now.Unix()-clock.Unix())%(24*60*60), 0), nil
	}
	span, err := call.ParseSpan(text)
	if err != nil || span < 0 {
		return at, fmt.Errorf("%q: use a duration, such as 10m, 24h or 30d, or a time, such as 02:14Z or 2026-03-01T12:00:00Z", text)
	}
	return now.Add(-span), nil
}
