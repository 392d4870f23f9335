package node

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

// active returns the block of an address as the admin API shows it.
func (u *underTest) active(addr string) admin.ActiveBlock {
	u.t.Helper()
	a := netip.MustParseAddr(addr)
	found := u.view().Find(u.view().Now(), netip.PrefixFrom(a, a.BitLen()))
	if len(found) != 1 {
		u.t.Fatalf("%s is in %d blocks", addr, len(found))
	}
	return u.view().Active(found)[0]
}

// A block counts what this node's own verdicts refuse, through an extension too. A list that
// has the block is named beside that, and hides no count.
func TestRefusedIsOfThisNode(t *testing.T) {
	alone, _, _ := strings.Cut(small, "enforce:")
	alone += "rules: [{name: small, threshold: 10, guard: 1}]\n"
	u := newNode(t, shortDir(t), alone).start()
	for range 11 + 5 { // the eleventh makes the block, and is refused
		u.request("203.0.113.9")
	}
	b := u.active("203.0.113.9")
	if b.Refused == nil || *b.Refused != 6 || b.LastRefused.Before(b.Since) || b.RefusedBy != "" {
		t.Errorf("refused 6 times: %+v", b)
	}
	longer := edgeguard.Block{Prefix: b.Prefix, Rule: edgeguard.ManualRule, Since: b.Since, Until: u.view().Now().Add(2 * time.Hour)}
	if _, err := u.view().Block(longer, false); err != nil {
		t.Fatal(err)
	}
	u.request("203.0.113.9")
	if b := u.active("203.0.113.9"); b.Refused == nil || *b.Refused != 7 || b.Rule != edgeguard.ManualRule {
		t.Errorf("extended, and refused once more: %+v", b)
	}
	u.yaml = small
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	u.eventually("the list has it", func() bool { return u.active("203.0.113.9").RefusedBy != "" })
	if b := u.active("203.0.113.9"); b.Refused == nil || *b.Refused != 7 || b.Asked != 7 || b.LastRefused.IsZero() || !strings.HasSuffix(b.RefusedBy, "/deny.conf") {
		t.Errorf("in a list: %+v", b)
	}
	u.yaml = "mode: monitor\n" + small
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	if b := u.active("203.0.113.9"); b.RefusedBy != "" || b.Refused == nil {
		t.Errorf("in mode monitor no list refuses: %+v", b)
	}
}
