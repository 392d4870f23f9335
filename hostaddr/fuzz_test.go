package hostaddr

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
)

// fuzz feeds a parser anything: whatever it finds is an address that could be
// blocked, in canonical form, and never more of them than there are lines.
func fuzz(f *testing.F, parse parser, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parseLines(bytes.NewReader(text), parse)
		if len(found) > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("%d addresses in %d lines", len(found), bytes.Count(text, []byte("\n"))+1)
		}
		for _, p := range found {
			a := p.Prefix.Addr()
			if !p.Prefix.IsSingleIP() || a.Is4In6() || a.Zone() != "" || a.IsUnspecified() || p.Reason == "" {
				t.Errorf("%+v from %q", p, text)
			}
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\n\r\x00") || len(err.Error()) > 600) {
			t.Errorf("the error %q is not one short line", err)
		}
	})
}

func FuzzRoutes4(f *testing.F) { fuzz(f, parseRoutes4, routes4, "eth0 0 01 3") }
func FuzzRoutes6(f *testing.F) { fuzz(f, parseRoutes6, routes6, "fe80") }

func FuzzResolvers(f *testing.F) {
	fuzz(f, parseResolvers, resolvers, "nameserver fe80::1%eth0")
}

// FuzzWhy compares with the obvious search for the longest prefix.
func FuzzWhy(f *testing.F) {
	f.Add([]byte{10, 0, 0, 0, 8, 10, 1, 2, 3, 32, 10, 1, 0, 0, 16, 10, 1, 2, 3, 32})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var all []Protected
		for len(raw) >= 5 {
			all = append(all, Protected{netip.PrefixFrom(netip.AddrFrom4([4]byte(raw)), int(raw[4]%33)), "x"})
			raw = raw[5:]
		}
		if len(all) == 0 {
			return
		}
		asked := all[0].Prefix.Masked()
		want := -1
		for _, p := range all[1:] {
			if p.Prefix.Bits() <= asked.Bits() && p.Prefix.Contains(asked.Addr()) {
				want = max(want, p.Prefix.Bits())
			}
		}
		got, ok := newSet(all[1:]).Why(asked)
		if ok != (want >= 0) || ok && got.Prefix.Bits() != want {
			t.Errorf("%s in %v: %v, %t; want /%d", asked, all[1:], got, ok, want)
		}
	})
}
