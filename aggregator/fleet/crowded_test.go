package fleet

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// TestNetworks: a network is left alone for a minute, and the alarm
// lasts two after the last block that was kept back; what is remembered is
// bounded.
func TestNetworks(t *testing.T) {
	var c CrowdedNetworks
	now := time.Unix(1_700_000_000, 0)
	p := netip.MustParsePrefix
	if !c.Ended(now) {
		t.Error("it begins with an alarm")
	}
	c.Add(p("10.1.2.3/32"), now)
	c.Add(p("2001:db8:1:2::/64"), now)
	if !c.Covers(p("10.1.9.9/32"), now) || c.Covers(p("10.2.2.3/32"), now) || !c.Covers(p("2001:db8:1:3::/64"), now) || c.Covers(p("2001:db8:2:2::/64"), now) {
		t.Error("the wrong networks are crowded")
	}
	if c.Covers(p("10.1.2.3/32"), now.Add(lasts)) {
		t.Error("it is crowded for ever")
	}
	if !c.NoteKept(now) || c.NoteKept(now.Add(time.Second)) {
		t.Error("the alarm does not begin once")
	}
	if c.Ended(now.Add(2*lasts)) || !c.Ended(now.Add(2*lasts+time.Second)) || !c.NoteKept(now) {
		t.Error("the alarm does not end")
	}
	for i := range 2 * mostInNetwork {
		c.Add(p(fmt.Sprintf("2001:db8:%x::/48", i)), now)
	}
	if len(c.until) != mostInNetwork {
		t.Errorf("%d networks are remembered", len(c.until))
	}
	later := now.Add(lasts)
	if c.Add(p("192.0.2.1/32"), later); len(c.until) != 1 || !c.Covers(p("192.0.2.1/32"), later) {
		t.Errorf("%d networks are remembered a minute later", len(c.until))
	}
}
