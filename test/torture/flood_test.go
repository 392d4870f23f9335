package torture

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
)

const (
	floodOffenders = 100  // half of them guess passwords, the others ask for too much
	floodOrdinary  = 1000 // clients who stay below every limit
)

// smokescreen writes a log in which a flood of fresh addresses hides some
// offenders.
type smokescreen struct {
	rng    *rand.Rand
	fresh  int // addresses
	events int // of each
	liner  liner
	page   []byte
	to     io.Writer
}

// known returns the address of an offender, and after those of an ordinary
// client.
func (s *smokescreen) known(i int) netip.Addr {
	if i%4 == 3 {
		return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::1", i))
	}
	return netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)})
}

// freshAddr returns the i-th address of the flood, half of them a /64 each.
func (s *smokescreen) freshAddr(i int) netip.Addr {
	number := [4]byte{16 + byte(i>>24), byte(i >> 16), byte(i >> 8), byte(i)}
	if i%2 == 0 {
		return netip.AddrFrom4(number)
	}
	wide := [16]byte{0: 0x2a, 15: 1}
	copy(wide[2:], number[:])
	return netip.AddrFrom16(wide)
}

// turns returns whose turn it is among the flood, in random order: 2,000
// requests or 25 log-ins of an offender, 10 requests and 5 log-ins of an
// ordinary client.
func (s *smokescreen) turns() []int {
	var turns []int
	add := func(who, times int) {
		for range times {
			turns = append(turns, who)
		}
	}
	for i := range floodOffenders {
		add(i, []int{25, 2000}[i%2])
	}
	for i := range floodOrdinary {
		add(floodOffenders+i, 15)
	}
	s.rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	return turns
}

// write sends it all, and calls now and then what looks after the node.
func (s *smokescreen) write(look func()) (lines int, err error) {
	turns := s.turns()
	total, done := s.fresh*s.events, 0
	said := make([]int, floodOffenders+floodOrdinary)
	now := time.Now()
	for i := range total {
		method, path := "POST", "/login" // counted by both rules
		s.page = s.liner.line(s.page, now, s.freshAddr(i/s.events), method, path, 200)
		for ; done < len(turns) && done*total < (i+1)*len(turns); done++ {
			who := turns[done]
			said[who]++
			if who < floodOffenders && who%2 == 1 || who >= floodOffenders && said[who] > 5 {
				method, path = "GET", "/"
			} else {
				method, path = "POST", "/login"
			}
			s.page = s.liner.line(s.page, now, s.known(who), method, path, 200)
		}
		if len(s.page) > 1<<16 || i == total-1 {
			if _, err := s.to.Write(s.page); err != nil {
				return 0, err
			}
			s.page, now = s.page[:0], time.Now()
		}
		if i%100_000 == 0 {
			look()
		}
	}
	return total + done, nil
}

// Faults 9 and 10: a flood of addresses that were never seen before, IPv4 and
// IPv6, through a small memory. The memory stays below its cap, nobody is
// blocked who did nothing, and who goes over a limit behind it is.
func TestFloodOfFreshAddresses(t *testing.T) {
	for _, events := range []int{1, 5} {
		t.Run(fmt.Sprintf("%d of each", events), func(t *testing.T) {
			if events > 1 && !full {
				t.Skip("at full length only: TORTURE=1")
			}
			flood(t, size(250_000, 20_000_000), events, size(16, 256))
		})
	}
}

func flood(t *testing.T, fresh, events, megabytes int) {
	address := program.Address(t)
	n := newNode(t, `
node: test
state: $DIR/state
memory: `+strconv.Itoa(megabytes)+`MiB
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: nothing}], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{listen: "tcp:`+address+`", emit: request}]}
rules:
  - {name: site, threshold: 2000, window: 20m, block_for: 1h}
  - {name: login, match: {method: POST, path: /login}, threshold: 20, window: 20m, block_for: 1h}
`)
	n.start()
	before := n.resident()
	s := smokescreen{rng: newRand(t), fresh: fresh, events: events, to: n.dial("tcp", address)}
	begun := time.Now()
	lines, err := s.write(func() {
		if m := n.status().Tables; m.Used > m.Limit || m.Limit != int64(megabytes)<<20 {
			t.Errorf("%d bytes in use, the cap is %d", m.Used, m.Limit)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Until("all is decided", func() bool { return n.status().Events.Decided >= uint64(lines) })
	took := time.Since(begun)

	blocks, caught := n.blocks(), 0
	for i := range floodOffenders {
		addr := s.known(i)
		key := netip.PrefixFrom(addr, 32)
		if addr.Is6() {
			key = netip.PrefixFrom(addr, 64).Masked()
		}
		if _, found := blocks[key]; found {
			caught++
			delete(blocks, key)
		}
	}
	for p, b := range blocks {
		t.Errorf("%v is blocked by %s, and stayed below its limit", p, b.Rule)
	}
	if caught < 97 {
		t.Errorf("%d of %d offenders are blocked, want 97", caught, floodOffenders)
	}
	m := n.status().Tables
	if m.Evicted+m.Expired+m.Refused == 0 {
		t.Errorf("nothing made room: the flood was too small to test anything")
	}
	// Beside the tables: the sockets' buffers, the admin's answers, and what the
	// garbage collector has not given back of those.
	const slack = 48 << 20
	most := n.resident()
	if limit := before + m.Limit + slack; before > 0 && most > limit {
		t.Errorf("%d MiB resident, of them %d at the start; the cap is %d", most>>20, before>>20, m.Limit>>20)
	}
	t.Logf("%d of %d offenders blocked; %d lines in %v; %d keys, %d evicted; %d MiB resident, of them %d at the start, cap %d",
		caught, floodOffenders, lines, took.Round(time.Millisecond), m.Keys, m.Evicted, most>>20, before>>20, m.Limit>>20)
}

// resident returns the most memory that the process ever had, in bytes; 0 where
// the system does not say.
func (n *node) resident() int64 {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				n.t.Fatalf("%q: %v", line, err)
			}
			return kilobytes << 10
		}
	}
	return 0
}
