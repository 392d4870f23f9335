package call

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/safetext"
)

const (
	defaultLimit = 100 // entries of an answer
	// MaxLimit is the most entries of an answer.
	MaxLimit = 1000
)

// Query is a request's parameters, each given once and known.
type Query map[string]string

// ReadQuery refuses parameters that are not known: a filter with a typing
// error must not list everything.
func ReadQuery(r *http.Request, known ...string) (Query, *Problem) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, NewProblem(http.StatusBadRequest, "", "invalid query: "+err.Error(), "escape its values")
	}
	q := make(Query, len(values))
	for name, all := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, NewProblem(http.StatusBadRequest, Clip(name), "unknown parameter", knownFix(known))
		case len(all) > 1:
			return nil, NewProblem(http.StatusBadRequest, name, "is given twice", "use it once")
		}
		q[name] = all[0]
	}
	return q, nil
}

func knownFix(known []string) string {
	if len(known) == 0 {
		return "remove it"
	}
	return "use one of " + strings.Join(known, ", ")
}

// Limit returns the number of entries asked for.
func (q Query) Limit() (int, *Problem) {
	text, given := q["limit"]
	if !given {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxLimit {
		return 0, NewProblem(http.StatusBadRequest, "limit", strconv.Quote(Clip(text))+" is not a number from 1 to 1000", "use cursor for the next page")
	}
	return n, nil
}

// Number returns a parameter that is a number from 1 on.
func (q Query) Number(name string, most uint32) (uint32, *Problem) {
	n, err := strconv.ParseUint(q[name], 10, 32)
	if err != nil || n < 1 || n > uint64(most) {
		return 0, NewProblem(http.StatusBadRequest, name, strconv.Quote(Clip(q[name]))+" is not such a number", fmt.Sprintf("use one from 1 to %d", most))
	}
	return uint32(n), nil
}

// OneOf refuses a parameter that is given and none of the words.
func (q Query) OneOf(name string, words ...string) *Problem {
	if text, given := q[name]; given && !slices.Contains(words, text) {
		return NewProblem(http.StatusBadRequest, name, strconv.Quote(Clip(text))+" is not known", "use "+strings.Join(words, " or "))
	}
	return nil
}

// Time returns the time of a parameter, the zero time if it is not given.
func (q Query) Time(name string) (at time.Time, _ *Problem) {
	text, given := q[name]
	if !given {
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, NewProblem(http.StatusBadRequest, name, strconv.Quote(Clip(text))+" is not a time", "use 2026-03-01T12:00:00Z")
	}
	return at, nil
}

// Prefix returns the prefix of a parameter, the zero prefix if it is not given.
func (q Query) Prefix(name string) (netip.Prefix, *Problem) {
	text, given := q[name]
	if !given {
		return netip.Prefix{}, nil
	}
	return ParsePrefix(name, text)
}

// ParsePrefix reads an address or a prefix. IPv4 in IPv6 becomes IPv4, as
// everywhere.
func ParsePrefix(field, text string) (netip.Prefix, *Problem) {
	bad := func(detail, fix string) (netip.Prefix, *Problem) {
		return netip.Prefix{}, NewProblem(http.StatusBadRequest, field, strconv.Quote(Clip(text))+" "+detail, fix)
	}
	if !strings.Contains(text, "/") {
		addr, p := ParseAddr(field, text)
		if p != nil {
			return netip.Prefix{}, p
		}
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return bad("is neither an address nor a prefix", "use 203.0.113.7, 203.0.113.0/24 or 2001:db8::/64")
	}
	if prefix.Addr().Is4In6() {
		if prefix.Bits() < 96 {
			return bad("is IPv4 written as IPv6 and wider than all of IPv4", "use an IPv4 prefix")
		}
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	if prefix != prefix.Masked() {
		return bad("has host bits set", "use "+prefix.Masked().String()+", or the address alone")
	}
	return prefix, nil
}

// ParseAddr reads an address, unmapped.
func ParseAddr(field, text string) (netip.Addr, *Problem) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, NewProblem(http.StatusBadRequest, field, strconv.Quote(Clip(text))+" is not an address", "use 203.0.113.7 or 2001:db8::7, without port or zone")
	}
	return addr.Unmap(), nil
}

// Clip shortens what a message repeats.
func Clip(text string) string {
	return safetext.Cut(text, 80)
}
