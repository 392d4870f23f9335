// Package words writes numbers, shares, spans and times as people read them: the
// command and the pages of the console write them alike.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Number writes n with a comma at each thousand.
func Number[N int | int64 | uint32 | uint64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return out.String()
}

// Plural writes n with its noun, in the plural unless n is 1.
func Plural[N int | int64 | uint32 | uint64](n N, one, many string) string {
	if n == 1 {
		return Number(n) + " " + one
	}
	return Number(n) + " " + many
}

// Percent writes part of whole with as many digits as a small share needs to
// be seen.
func Percent[N int | int64 | uint32 | uint64](part, whole N) string {
	if whole == 0 {
		return "0 %"
	}
	share := 100 * float64(part) / float64(whole)
	switch {
	case part == 0:
		return "0 %"
	case share < 0.01:
		return "< 0.01 %"
	case share < 1:
		return fmt.Sprintf("%.2f %%", share)
	}
	return fmt.Sprintf("%.1f %%", share)
}

// Instant writes a time as a table shows it: UTC, to the second.
func Instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Span writes a duration as people write it in a config: 90s is "1m30s", 48 hours and
// more are days, and there are no zeroes.
func Span(d time.Duration) string {
	if days, rest := d/(24*time.Hour), d%(24*time.Hour); days >= 2 {
		text := fmt.Sprintf("%dd", days)
		if rest > 0 {
			text += Span(rest)
		}
		return text
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Left writes how long something still lasts, to the second, the minute or the hour: of
// 30 days less a second it says 30d.
func Left(d time.Duration) string {
	unit := time.Second
	switch {
	case d >= 48*time.Hour-30*time.Minute:
		unit = time.Hour
	case d >= time.Hour:
		unit = time.Minute
	}
	return Span(max(0, d).Round(unit))
}

// PercentShare writes a share from 0 to 1.
func PercentShare(share float64) string {
	const whole = 1 << 50
	return Percent(uint64(share*whole), uint64(whole))
}

// Length writes a duration in its two largest units, such as "6 min 49 s" or
// "1 d 4 h". Less than a second is "0 s".
func Length(d time.Duration) string {
	s := int64(d / time.Second)
	units := []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}
	for i, u := range units {
		if s < u.size && u.size > 1 {
			continue
		}
		text := fmt.Sprintf("%d %s", s/u.size, u.name)
		if i+1 < len(units) && s%u.size/units[i+1].size > 0 {
			text += fmt.Sprintf(" %d %s", s%u.size/units[i+1].size, units[i+1].name)
		}
		return text
	}
	return ""
}

// Seconds writes a number of seconds, such as "5 minutes".
func Seconds(seconds int) string {
	d := time.Duration(seconds) * time.Second
	if d >= time.Minute && d%time.Minute == 0 && d < time.Hour {
		return Plural(seconds/60, "minute", "minutes")
	}
	return Length(d)
}

// Suppressed says how many lines a log names as suppressed, and what to do.
func Suppressed(lines uint64) string {
	return Plural(lines, "line was", "lines were") + " suppressed before they came, and counted for nobody: raise the limit of who did it (journald's RateLimitBurst, rsyslog's ratelimit.burst)"
}
