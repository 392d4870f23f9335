package pipeline

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

var benchStart = time.Unix(1780358400, 0)

// lanes are a lock divided by address, with no cache line shared by two.
type lanes [64]struct {
	sync.RWMutex
	_ [104]byte // to the next two cache lines: processors fetch them in pairs
}

func (l *lanes) of(addr netip.Addr) *sync.RWMutex {
	b := addr.As16()
	return &l[(b[15]^b[13]^b[7]^b[6])%uint8(len(l))].RWMutex
}

// BenchmarkReload is ADR 18: what it costs each decision that a reload can wait
// for those under way. "one" is the pipeline's lock; "lanes" divides it by
// address; "none" loads the generation, and a reload could not wait. "pass"
// decides nothing.
func BenchmarkReload(b *testing.B) {
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60_000}, {Name: "login", Threshold: 60_000, Match: rules.Match{Method: []string{"POST"}}}})
	if problems != nil {
		b.Fatal(problems)
	}
	p := New(Config{Memory: shard.NewMemory(256 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1}, &config.Config{Rules: set})
	var divided lanes
	pass := func(*detector.Detector, *edgeguard.Event) {}
	decide := func(d *detector.Detector, event *edgeguard.Event) { d.Decide(benchStart, event) }
	for _, work := range []struct {
		name string
		do   func(*detector.Detector, *edgeguard.Event)
	}{{"pass", pass}, {"decide", decide}} {
		b.Run(work.name+"/lanes", func(b *testing.B) {
			inParallel(b, func(event *edgeguard.Event) {
				lane := divided.of(event.Addr)
				lane.RLock()
				defer lane.RUnlock()
				work.do(p.current.Load().Detector, event)
			})
		})
		b.Run(work.name+"/one", func(b *testing.B) {
			inParallel(b, func(event *edgeguard.Event) {
				p.reload.RLock()
				defer p.reload.RUnlock()
				work.do(p.current.Load().Detector, event)
			})
		})
		b.Run(work.name+"/none", func(b *testing.B) {
			inParallel(b, func(event *edgeguard.Event) { work.do(p.current.Load().Detector, event) })
		})
	}
}

// inParallel passes requests of 65,536 addresses, each goroutine's in its own
// order.
func inParallel(b *testing.B, pass func(*edgeguard.Event)) {
	var goroutines atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		state := goroutines.Add(1) * 0x9e3779b97f4a7c15
		event := edgeguard.Event{Time: benchStart, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Known: edgeguard.FieldMethod, Method: "GET"}
		addr := [4]byte{10, 0}
		for pb.Next() {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			binary.BigEndian.PutUint16(addr[2:], uint16(state>>40))
			event.Addr = netip.AddrFrom4(addr)
			pass(&event)
		}
	})
}
