package torture

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard/internal/program"
)

const (
	besieged     = 2000     // offenders whose blocks of ten minutes stand
	trapped      = 1 << 20  // the /64 of the flood's one /44
	mostResident = 96 << 20 // bytes, with memory: 32MiB
	rounds       = 100      // in which the flood is sent; each offender asks in every one
	besiegedList = "$DIR/list.conf"
	besiegedFor  = 10 * time.Minute // block_for of login, the default
)

// offender returns one that was blocked before the flood, half of them IPv4.
func offender(i int) netip.Addr {
	if i%2 == 0 {
		return netip.AddrFrom4([4]byte{byte(128 + i%90), byte(i % 251), byte(i >> 8), byte(i)})
	}
	return netip.MustParseAddr(fmt.Sprintf("2600:%x:%x::1", i%977, i))
}

// A flood of addresses, each of which is blocked for a day by its one request,
// from one /44: the node with all its parts stays within its memory, and 2,000
// offenders that were blocked for ten minutes and go on guessing stay blocked; after
// a restart too. The flood has to be over before the first of their blocks ends, or
// the test would show who was blocked again, and not who was pushed out.
//
// Counts of wide networks are off: they block a /56 after a few of its /64, and then
// the flood makes 4,096 blocks and not a million.
func TestFloodOfBlocks(t *testing.T) {
	address := program.Address(t)
	n := newNode(t, `
node: test
state: $DIR/state
memory: 32MiB
wide: "off"
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: nothing}], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{listen: "tcp:`+address+`", emit: request}]}
enforce: {files: [{file: `+besiegedList+`, format: nginx-geo}]}
rules:
  - {name: login, match: {method: POST, path: /login}, threshold: 5, guard: 1, block_for: `+besiegedFor.String()+`}
  - {name: trap, match: {path: /.env}, threshold: 1, cost: 2, block_for: 24h, escalate: [48h]}
`)
	n.start()
	before := n.resident()
	log := n.dial("tcp", address)
	var line liner
	var page []byte
	lines := 0
	say := func(addr netip.Addr, method, path string) {
		page = line.line(page, time.Now(), addr, method, path, 200)
		lines++
	}
	send := func() {
		if _, err := log.Write(page); err != nil {
			t.Fatal(err)
		}
		page = page[:0]
	}
	blocked := time.Now()
	for i := range besieged {
		for range 7 {
			say(offender(i), "POST", "/login")
		}
	}
	send()
	n.Until("the offenders are blocked", func() bool { return n.status().V4+n.status().V6 >= besieged })
	flood := size(70_000, 2_000_000)
	begun := time.Now()
	for round := range rounds {
		for i := range besieged {
			say(offender(i), "POST", "/login")
		}
		for i := round * flood / rounds; i < (round+1)*flood/rounds; i++ {
			k := i % trapped
			say(netip.AddrFrom16([16]byte{0x2a, 0x0f, 0x12, 0x34, 0x56, byte(k >> 16), byte(k >> 8), byte(k), 15: 1}), "GET", "/.env")
		}
		send()
		if round%20 == 0 {
			n.blocks() // an operator looks
		}
		if sent := (round + 1) * flood / rounds; sent == 100_000 || sent == 500_000 {
			n.Until("what was sent is decided", func() bool { return n.status().Events.Decided >= uint64(lines) })
			t.Logf("%d blocks after %v: %d MiB resident at most", sent, time.Since(begun).Round(time.Millisecond), n.resident()>>20)
		}
	}
	n.Until("all is decided", func() bool { return n.status().Events.Decided >= uint64(lines) })
	took := time.Since(begun)
	check := func(when string) {
		stay, blocks := 0, n.blocks()
		for i := range besieged {
			key, _ := offender(i).Prefix(min(64, offender(i).BitLen()))
			if blocks[key].Rule == "login" {
				stay++
			}
		}
		s, most := n.status(), n.resident()
		if outlasted := time.Since(blocked); outlasted > besiegedFor {
			t.Fatalf("%s: %v since the offenders were blocked for %v, and their blocks end by themselves: the machine is too slow to tell who was pushed out", when, outlasted.Round(time.Second), besiegedFor)
		}
		if stay != besieged {
			t.Errorf("%s: %d of %d offenders are blocked still", when, stay, besieged)
		}
		if s.V4+s.V6 > s.MaxBlocks || len(blocks) < s.MaxBlocks*9/10 {
			t.Errorf("%s: %d blocks stand, want %d", when, len(blocks), s.MaxBlocks)
		}
		if most > mostResident {
			t.Errorf("%s: %d MiB resident, want %d at most", when, most>>20, mostResident>>20)
		}
		t.Logf("%s: %d of %d offenders blocked, %d blocks, %d evicted, %d MiB resident at most", when, stay, besieged, len(blocks), s.Evicted, most>>20)
	}
	t.Logf("%d blocks of one request in %v, %d MiB resident at the start", flood, took.Round(time.Millisecond), before>>20)
	check("after the flood")
	if s := n.status(); s.Evicted < uint64(flood/2) || len(s.Alarms()) == 0 {
		t.Errorf("%d were evicted, conditions %v", s.Evicted, s.Alarms())
	}
	n.Stop()
	n.start()
	check("after a restart")
}
