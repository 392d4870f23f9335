package torture

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// oddTime is a kind of time that a log may hold beside the right one.
type oddTime struct {
	name string
	// write returns a line's time; now is the clock's.
	write func(now time.Time, rng *rand.Rand) string
	// counts says that the line is counted: what is from the future is, as if
	// it happened now; what is older than the window is not.
	counts bool
}

// combinedTime is how the combined format writes times.
const combinedTime = "02/Jan/2006:15:04:05 -0700"

var oddTimes = []oddTime{
	{"right", func(now time.Time, _ *rand.Rand) string { return now.Format(combinedTime) }, true},
	{"other zones, as on the day that summer time begins or ends", func(now time.Time, rng *rand.Rand) string {
		return now.In(time.FixedZone("", (rng.IntN(53)-24)*1800)).Format(combinedTime) // -12:00 to +14:00
	}, true},
	{"5 s slow", func(now time.Time, _ *rand.Rand) string { return now.Add(-5 * time.Second).Format(combinedTime) }, true},
	{"5 s fast", func(now time.Time, _ *rand.Rand) string { return now.Add(5 * time.Second).Format(combinedTime) }, true},
	{"300 s fast", func(now time.Time, _ *rand.Rand) string { return now.Add(300 * time.Second).Format(combinedTime) }, true},
	{"an hour fast", func(now time.Time, _ *rand.Rand) string { return now.Add(time.Hour).Format(combinedTime) }, true},
	{"an hour slow", func(now time.Time, _ *rand.Rand) string { return now.Add(-time.Hour).Format(combinedTime) }, false},
	{"a leap second long ago", func(time.Time, *rand.Rand) string { return "31/Dec/2016:23:59:60 +0000" }, false},
	{"a leap second to come", func(now time.Time, _ *rand.Rand) string { return fmt.Sprintf("31/Dec/%d:23:59:60 +0000", now.Year()+1) }, true},
	{"around the end of 32 bits", func(_ time.Time, rng *rand.Rand) string {
		return time.Unix(1<<31+rng.Int64N(7200)-3600, 0).UTC().Format(combinedTime)
	}, true},
	{"after the year 2106, which is no time of a log", func(_ time.Time, rng *rand.Rand) string {
		return time.Unix(1<<32+rng.Int64N(1<<36), 0).UTC().Format(combinedTime)
	}, false},
	{"before the epoch, which is none either", func(_ time.Time, rng *rand.Rand) string {
		return time.Unix(-1-rng.Int64N(1<<35), 0).UTC().Format(combinedTime)
	}, false},
}

// Fault 17, in the lines of a log: whatever times they bear, right ones are
// counted right, nobody is blocked who asked for little, and nothing stops. (The
// steps of the node's own clock are package node's to test: a process has no clock of
// its own.)
func TestOddTimesInALog(t *testing.T) {
	address := program.Address(t)
	n := newNode(t, `
node: test
state: $DIR/state
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: nothing}], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{listen: "tcp:`+address+`", format: combined, emit: request}]}
rules:
  - {name: site, threshold: 20, guard: 1, window: 20m}
`)
	n.start()
	rng := newRand(t)
	// Each kind of time has clients of its own: the quiet, and one in ten who
	// asks for too much.
	const limit = 20
	clients := size(600, 12_000)
	lines := make([]int, clients)
	var turns []int
	for i := range lines {
		lines[i] = 1 + rng.IntN(limit)
		if i/len(oddTimes)%10 == 9 {
			lines[i] += limit
		}
		for range lines[i] {
			turns = append(turns, i)
		}
	}
	rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	client := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}) }
	conn := n.dial("tcp", address)
	for _, i := range turns {
		when := oddTimes[i%len(oddTimes)].write(time.Now(), rng)
		if _, err := fmt.Fprintf(conn, "%v - - [%s] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n", client(i), when); err != nil {
			t.Fatal(err)
		}
	}
	n.Until("all lines are read", func() bool {
		l := n.status().Logs[0]
		return l.Parsed+l.Skipped == uint64(len(turns))
	})
	n.Until("all are decided", func() bool { return n.status().Events.Decided == n.status().Logs[0].Parsed })
	blocks := n.blocks()
	wrong, noTime := make(map[string]int), 0
	for i, sent := range lines {
		odd := oddTimes[i%len(oddTimes)]
		want := sent
		if !odd.counts {
			want = 0
		}
		if strings.Contains(odd.name, "which is no") {
			noTime += sent
		}
		_, blocked := blocks[netip.PrefixFrom(client(i), 32)]
		if counted := n.count(client(i)); counted != want || blocked != (want > limit) {
			if wrong[odd.name]++; wrong[odd.name] == 1 {
				t.Errorf("%s: %d lines, %d counted, blocked: %t", odd.name, sent, counted, blocked)
			}
		}
	}
	s := n.status()
	if s.Logs[0].Skipped != uint64(noTime) || s.Logs[0].Late == 0 || s.Logs[0].Early == 0 {
		t.Errorf("%+v", s.Logs[0])
	}
	t.Logf("%d lines of %d clients: %d late, %d early, %d blocked; wrong: %v", len(turns), clients, s.Logs[0].Late, s.Logs[0].Early, len(blocks), wrong)
}
