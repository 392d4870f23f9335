package command

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A time is one, or how long ago; what is neither, or ends before it begins, is a mistake on
// the command line.
func TestPeriod(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		read, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	for _, c := range []struct {
		flags    []string
		from, to string
		wrong    string
	}{
		{nil, "", "", ""},
		{[]string{"--since", "1h"}, "2026-03-01T11:00:00Z", "", ""},
		{[]string{"--since", "30d", "--until", "2026-03-01T10:00:00+02:00"}, "2026-01-30T12:00:00Z", "2026-03-01T08:00:00Z", ""},
		{[]string{"--since", "2026-03-01 09:00:05Z", "--until", "2026-03-01 10:15+00:00"}, "2026-03-01T09:00:05Z", "2026-03-01T10:15:00Z", ""},
		{[]string{"--since", "02:14Z"}, "2026-03-01T02:14:00Z", "", ""},
		{[]string{"--since", "12:01Z", "--until", "12:00Z"}, "2026-02-28T12:01:00Z", "2026-03-01T12:00:00Z", ""},
		{[]string{"--since", "14:30+05:30"}, "2026-03-01T09:00:00Z", "", ""},
		{[]string{"--since", "23:30+05:30"}, "2026-02-28T18:00:00Z", "", ""},
		{[]string{"--since", "02:14"}, "", "", `x: --since "02:14": use a duration, such as 10m, 24h or 30d, or a time, such as 02:14Z or 2026-03-01T12:00:00Z`},
		{[]string{"--since", "month"}, "", "", `x: --since "month": use a duration, such as 10m, 24h or 30d, or a time, such as 02:14Z or 2026-03-01T12:00:00Z`},
		{[]string{"--until", "-1h"}, "", "", `x: --until "-1h": use a duration, such as 10m, 24h or 30d, or a time, such as 02:14Z or 2026-03-01T12:00:00Z`},
		{[]string{"--since", "10m", "--until", "1h"}, "", "", "x: --until 1h is not after --since 10m"},
	} {
		var p Period
		command := &cobra.Command{Use: "x"}
		p.Flags(command, "what happened")
		if err := command.ParseFlags(c.flags); err != nil {
			t.Fatal(err)
		}
		from, to, err := p.Read(command, now)
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong || !IsUsage(err) {
				t.Errorf("%q: %v, want %s", c.flags, err, c.wrong)
			}
			continue
		}
		if err != nil || !from.Equal(at(c.from)) || !to.Equal(at(c.to)) || p.Given() != (len(c.flags) > 0) {
			t.Errorf("%q: %s to %s, %v", c.flags, from, to, err)
		}
	}
}
