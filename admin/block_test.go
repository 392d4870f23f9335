package admin_test

import (
	"net/netip"
	"testing"

	"edgeguard"
	"edgeguard/admin"
)

// What another node hid in a reason is seen in every list.
func TestReasonsAreSeen(t *testing.T) {
	b := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Reason: "ok\u200b\U000e0061", Until: edgeguard.Forever}
	if got := admin.NewBlock(b).Reason; got != "ok??" {
		t.Errorf("a block's is %q", got)
	}
	if got := admin.NewAllowance(b).Reason; got != "ok??" {
		t.Errorf("an allowance's is %q", got)
	}
}
