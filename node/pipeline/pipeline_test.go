package pipeline

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/rules"
	"edgeguard/shard"
)

// TestScanHoldsUpNoDecision: a reload waits for a scan of the tables, and
// decisions go on in between.
func TestScanHoldsUpNoDecision(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 10}})
	if problems != nil {
		t.Fatal(problems)
	}
	c := &config.Config{Rules: set}
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1}, c)
	defer p.Close()
	before := p.Current()
	p.scans.RLock() // a scan is under way
	replaced := make(chan struct{})
	go func() {
		defer close(replaced)
		p.Replace(time.Now(), c)
	}()
	for p.scans.TryRLock() { // until the reload waits
		p.scans.RUnlock()
		runtime.Gosched()
	}
	event := edgeguard.Event{Time: benchStart, Addr: netip.MustParseAddr("192.0.2.1"), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
	p.Decide(benchStart, &event)
	p.LookUp(benchStart, &event)
	if p.Current() != before {
		t.Fatal("the reload did not wait for the scan")
	}
	p.scans.RUnlock()
	<-replaced
	p.Clear(benchStart, netip.MustParsePrefix("192.0.2.0/24"))
	if p.Current() == before {
		t.Fatal("the reload did not happen")
	}
}
