package console

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin"
)

func TestBlockElsewhere(t *testing.T) {
	for _, c := range []struct {
		prefix         string
		forced, signed bool
		says           string
	}{
		{"203.0.113.7/32", false, false, "if it would refuse too large a share of the requests there"},
		{"203.0.113.7/32", false, true, "if it would refuse too large a share of the requests there"},
		{"203.0.113.7/32", true, false, "if it would refuse too large a share of the requests there"},
		{"203.0.113.7/32", true, true, "no other node waits"},
		{"10.0.0.0/24", true, false, "if it would refuse"},
		{"10.0.0.0/23", true, false, "confirms it there"},
		{"10.0.0.0/20", false, false, "confirms it there"},
		{"10.0.0.0/20", false, true, "if it would refuse"},
		{"10.0.0.0/15", true, false, "confirms it there"},
		{"10.0.0.0/15", true, true, "no other node waits"},
		{"2001:db8::/48", true, false, "if it would refuse"},
		{"2001:db8::/31", true, false, "confirms it there"},
		{"10.0.0.0/7", true, true, "on this node alone"},
		{"2000::/15", true, false, "on this node alone"},
	} {
		if got := blockElsewhere(netip.MustParsePrefix(c.prefix), c.forced, c.signed); !strings.Contains(got, c.says) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestAllowanceElsewhere(t *testing.T) {
	for _, c := range []struct {
		prefix string
		signed bool
		says   string
	}{
		{"203.0.113.7/32", false, ""}, {"203.0.113.0/24", false, ""}, {"203.0.112.0/23", true, ""}, {"2001:db8::/48", false, ""},
		{"203.0.112.0/23", false, waitsForEach}, {"2001:db8::/47", false, waitsForEach},
		{"0.0.0.0/1", true, " It is in force on this node alone: the others reject what is so wide."},
	} {
		if got := allowanceElsewhere(netip.MustParsePrefix(c.prefix), c.signed); got != c.says {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Each source has a row, and a list's leads to its blocks.
func TestElsewhereRows(t *testing.T) {
	s := &admin.Stats{Elsewhere: []admin.Elsewhere{
		{Source: "list", Name: "drop", Kind: "block", Records: 1, IPv4: 1 << 24, Share: 0.25},
		{Source: "nodes_signed", Kind: "allowance", Records: 2},
		{Source: "nodes_unsigned", Kind: "block", Held: 3},
	}}
	var got []string
	for _, row := range elsewhereRows(s) {
		got = append(got, row.Who()+"|"+row.Many+"|"+row.Share+"|"+row.Path)
	}
	want := []string{
		"list drop|1 block|refuse 25.0 %|/blocked?rule=owner+drop",
		"other nodes, signed|2 allowances|spare 0 %|/allowed",
		"other nodes, unsigned|0 blocks|refuse 0 %|",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
