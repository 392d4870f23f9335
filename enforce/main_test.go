package enforce

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func block(prefix string, until time.Time) edgeguard.Block {
	return edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Until: until, Version: 1}
}

func entries(until time.Time, prefixes ...string) []Entry {
	var list []Entry
	for _, p := range prefixes {
		list = append(list, Entry{Prefix: netip.MustParsePrefix(p), Until: until})
	}
	return list
}

// prefixes shows what an enforcer was given.
func prefixes(entries []Entry) string {
	words := make([]string, len(entries))
	for i, e := range entries {
		words[i] = prefixText(e.Prefix)
	}
	return strings.Join(words, " ")
}
