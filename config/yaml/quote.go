package yaml

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/words"
)

// Flow returns texts as a list on one line.
func Flow(texts []string) string {
	quoted := slices.Clone(texts)
	for i, text := range quoted {
		quoted[i] = Quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// numbers returns numbers, ranges and classes, which need no quotes.
func numbers(texts []string) string { return "[" + strings.Join(texts, ", ") + "]" }

var (
	plain    = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9/_.-]*$`)
	notPlain = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n)$`)
)

// Quote returns text so that it is read back as text. Go's quotes are YAML's
// too: it knows every escape that strconv writes.
func Quote(text string) string {
	if plain.MatchString(text) && !notPlain.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// Duration returns "5m" for five minutes, where Go would write "5m0s", and "30d" for
// 720 hours.
func Duration(d time.Duration) string { return words.Span(d) }

// mostDays is how many days ParseDuration reads.
const mostDays = 36_500

// ParseDuration reads what Duration writes: Go's durations, with days before them.
func ParseDuration(text string) (time.Duration, bool) {
	number, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	days, err := strconv.ParseUint(number, 10, 32)
	if err != nil || days > mostDays {
		return 0, false
	}
	d := time.Duration(days) * 24 * time.Hour
	if rest == "" {
		return d, true
	}
	more, err := time.ParseDuration(rest)
	return d + more, err == nil && more >= 0 && more < 24*time.Hour
}

// Size returns a number of bytes with the greatest unit that divides it.
func Size(bytes int64) string {
	for _, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		for _, known := range sizeUnits {
			if known.name == unit && bytes >= known.bytes && bytes%known.bytes == 0 {
				return fmt.Sprint(bytes/known.bytes) + unit
			}
		}
	}
	return fmt.Sprintf("%dB", bytes)
}

// sizeUnits are the units of sizes, the longest name of each first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}

// ParseSize reads a number of bytes with its unit.
func ParseSize(text string) (bytes int64, ok bool) {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(text, unit.name)
		count, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if ok && err == nil && count >= 0 && count <= math.MaxInt64/unit.bytes {
			return count * unit.bytes, true
		}
	}
	return 0, false
}
