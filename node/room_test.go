package node

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// A flood of blocks on a node with a budget: the list files hold what stands, the
// condition says it, an operator is refused with the figure, and a restart with
// the state has no more than before. Wide networks are not counted: the flood's
// own /56 would be blocked before it fills the list.
func TestBlocksHaveABudget(t *testing.T) {
	folder := shortDir(t)
	list := filepath.Join(folder, "list")
	yaml := strings.NewReplacer("threshold: 10", "threshold: 1", "$DIR/deny.conf, format: plain", "$DIR/list, format: plain").Replace(small) + "max_blocks: 1000\nwide: off\n"
	u := newNode(t, folder, yaml).start()
	by := u.view()
	manual := func(i int) error {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)
		_, err := by.Block(edgeguard.Block{Prefix: p, Rule: edgeguard.ManualRule, Since: by.Now(), Until: by.Now().Add(time.Hour)}, false)
		return err
	}
	for i := range 500 {
		if err := manual(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := manual(500); !errors.Is(err, blocklist.ErrFull) || !strings.Contains(err.Error(), "half of max_blocks (1000)") {
		t.Errorf("the 501st by hand: %v", err)
	}
	for i := range 3000 {
		for range 3 {
			u.request(fmt.Sprintf("2001:db8:0:%x::1", i))
		}
	}
	lines := func() []string {
		text, _ := os.ReadFile(list)
		return strings.Fields(string(text))
	}
	u.eventually("the list file follows", func() bool {
		have := lines()
		return len(have) == 1000 && strings.Contains(strings.Join(have, " "), "2001:db8:0:bb7::/64")
	})
	u.eventually("the condition is active", func() bool {
		return strings.Contains(u.conditions(), "1000 of max_blocks 1000 are active, 500 of these by hand; 2500 were removed for others")
	})
	if s := by.Stats(); s.MaxBlocks != 1000 || s.ByHand != 500 || s.Evicted != 2500 || s.V4+s.V6 != 1000 {
		t.Errorf("%+v", s)
	}
	u.stop()
	again := newNode(t, folder, yaml).start()
	if s := again.list.Stats(); s.V4 != 500 || s.V6 != 500 || s.Evicted != 0 {
		t.Errorf("after a restart: %+v", s)
	}
	again.yaml = strings.Replace(yaml, "max_blocks: 1000", "max_blocks: 2000", 1)
	if err := again.Reload(); err != nil {
		t.Fatal(err)
	}
	if n := again.list.Stats().Most; n != 2000 {
		t.Errorf("after a reload at most %d", n)
	}
}
