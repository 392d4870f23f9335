package clientaddr

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// spellings returns clear forms of one address: fault 16.
func spellings(a netip.Addr) []string {
	var bare []string
	mapped := netip.AddrFrom16(a.As16())
	if a.Is4() {
		q := a.As4()
		hex := fmt.Sprintf("%02x%02x:%02x%02x", q[0], q[1], q[2], q[3])
		short := fmt.Sprintf("%x:%x", uint16(q[0])<<8|uint16(q[1]), uint16(q[2])<<8|uint16(q[3]))
		for _, tail := range []string{a.String(), hex, strings.ToUpper(hex), short} {
			bare = append(bare, "::ffff:"+tail, "::FFFF:"+tail, "0:0:0:0:0:ffff:"+tail, "0::ffff:"+tail, "0:0::fFfF:"+tail,
				"0000:0000:0000:0000:0000:ffff:"+tail)
		}
	} else {
		bare = append(bare, a.String(), mapped.StringExpanded(), strings.ToUpper(mapped.StringExpanded()), strings.ToUpper(a.String()))
	}
	var all []string
	for _, s := range bare {
		all = append(all, s, s+"%eth0", s+"%1", "["+s+"]", "["+s+"]:80", "["+s+"%lo]:65535")
	}
	if a.Is4() {
		all = append(all, a.String(), a.String()+":0", a.String()+":443")
	}
	return all
}

func TestSpellings(t *testing.T) {
	forms := 0
	for _, s := range []string{"203.0.113.9", "1.2.3.4", "255.255.255.254", "2001:db8::1", "64:ff9b::102:304", "fe80::1", "2001:db8:0:1:1:1:1:1"} {
		want := netip.MustParseAddr(s)
		for _, form := range spellings(want) {
			forms++
			if got, ok := ParseAddr(form); !ok || got != want {
				t.Errorf("ParseAddr(%q) = %v, %v; want %v", form, got, ok, want)
			}
		}
	}
	if forms < 500 {
		t.Errorf("only %d forms", forms)
	}
}

func TestParseAddrRefuses(t *testing.T) {
	for _, s := range []string{
		"", " ", "01.2.3.4", "1.2.3.04", "1.2.3", "1.2", "1", "16909060", "0x01020304", "0x1.2.3.4", "1.2.3.4.5", "256.1.1.1",
		"1.2.3.4:", "1.2.3.4:x", "1.2.3.4:99999", "1.2.3.4:-1", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\x00", "1.2.3.4,5.6.7.8", "1.2.3.4%eth0",
		"[1.2.3.4]", "[1.2.3.4]:80", "[::1", "::1]", "[::1]x", "[::1]:", "[::1]:70000", "[]", "[]:80", ":80", "::1%", "[::1%]",
		"::ffff:01.2.3.4", "::ffff:1.2.3", "1::2::3", "12345::", "::g", "localhost", "unknown", "_hidden",
		"0.0.0.0", "::", "::ffff:0.0.0.0", "224.0.0.1", "ff02::1", "203.0.113.0/24", "１.2.3.4",
		"::1" + strings.Repeat("%", 100),
	} {
		if got, ok := ParseAddr(s); ok {
			t.Errorf("ParseAddr(%q) = %v, want a refusal", s, got)
		}
	}
}
