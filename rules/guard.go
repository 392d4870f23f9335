package rules

import (
	"errors"
	"strings"
)

// Guard is the part of a threshold that a rule uses, in millionths: 950,000
// for the default of 0.95. The band between limit and threshold pays for what
// slots and clocks leave uncertain.
//
// It is a whole number and never a float, because 0.95 has no exact float and
// an error in its last bit would move a limit by one.
type Guard uint32

const (
	guardOne     = 1_000_000
	guardDigits  = 6
	defaultGuard = Guard(950_000)
)

var errGuard = errors.New("use a decimal above 0 and up to 1 with at most 6 places, such as 0.95")

// ParseGuard parses a decimal such as "0.95" or "1". The error says which
// decimals are valid.
func ParseGuard(text string) (Guard, error) {
	whole, places, _ := strings.Cut(text, ".")
	if whole == "" || len(whole) > 1 || len(places) > guardDigits {
		return 0, errGuard
	}
	var millionths uint32
	for _, c := range whole + places + strings.Repeat("0", guardDigits-len(places)) {
		if c < '0' || c > '9' {
			return 0, errGuard
		}
		millionths = millionths*10 + uint32(c-'0')
	}
	if millionths == 0 || millionths > guardOne {
		return 0, errGuard
	}
	return Guard(millionths), nil
}

// Limit returns ceil(guard * threshold): 1900 for 2000 at 0.95, and 5 for 5.
func (g Guard) Limit(threshold uint32) uint32 {
	return uint32((uint64(g)*uint64(threshold) + guardOne - 1) / guardOne)
}

// String returns the decimal: "0.95".
func (g Guard) String() string {
	if g == guardOne {
		return "1"
	}
	digits := make([]byte, guardDigits)
	for i := guardDigits - 1; i >= 0; i-- {
		digits[i] = '0' + byte(g%10)
		g /= 10
	}
	return "0." + strings.TrimRight(string(digits), "0")
}

// greatestThreshold returns the greatest threshold whose limit is at most limit.
func (g Guard) greatestThreshold(limit uint32) uint32 {
	return uint32(uint64(limit) * guardOne / uint64(g))
}
