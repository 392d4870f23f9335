package torture

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"edgeguard/sensor/accesslog"
	"edgeguard/snapshot"
)

// crowd writes a log of many clients, at random, and remembers how often each
// was in it. Its methods are for one goroutine at a time.
type crowd struct {
	rng     *rand.Rand
	clients []netip.Addr
	lines   []int // by client
	liner   liner
	page    []byte
}

func newCrowd(rng *rand.Rand, size int) *crowd {
	c := &crowd{rng: rng, clients: make([]netip.Addr, size), lines: make([]int, size)}
	for i := range c.clients {
		c.clients[i] = netip.AddrFrom4([4]byte{198, 18 + byte(i>>16), byte(i >> 8), byte(i)})
	}
	return c
}

// write appends some lines to the log. Few clients send much: the square of an
// even chance.
func (c *crowd) write(log *os.File, lines int) error {
	c.page = c.page[:0]
	now := time.Now()
	for range lines {
		chance := c.rng.Float64()
		i := int(chance * chance * float64(len(c.clients)))
		c.lines[i]++
		c.page = c.liner.line(c.page, now, c.clients[i], "GET", "/", 200)
	}
	_, err := log.Write(c.page)
	return err
}

// Fault 6: the program is killed again and again while it reads a log. No
// state file is ever torn; the blocks of the last one are enforced from the
// first answer on; and in the end every line was counted once.
func TestKilledUnderLoad(t *testing.T) {
	const limit = 40
	n := newNode(t, `
node: test
state: $DIR/state
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: nothing}], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{file: $DIR/access.log, emit: request}]}
rules:
  - {name: site, threshold: 40, guard: 1, window: 1h, block_for: 2h}
`)
	log, err := os.Create(n.Path("access.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	rng := newRand(t)
	crowd := newCrowd(rand.New(rand.NewPCG(rng.Uint64(), 1)), size(3000, 50_000)) // it writes in a goroutine of its own
	n.start()

	stop := load(t, crowd, log)
	var slowest time.Duration
	saved := 0
	kills := size(10, 100)
	for i := range kills {
		// A second after its start it saves what is new, and until then it reads
		// again what it had not saved: killed in both.
		moment := time.Duration(rng.Int64N(int64(300 * time.Millisecond)))
		if i%2 == 1 {
			moment = time.Second + 2*moment
		}
		time.Sleep(moment)
		if i == kills-1 { // a busy machine may never have come to it
			n.Until("some blocks are saved", func() bool { return len(n.saved(time.Now()).blocks) >= 3 })
		}
		n.Lives()
		n.Kill()
		blocks := n.saved(time.Now()).blocks
		if len(blocks) < saved {
			t.Fatalf("%d blocks are saved, after %d before", len(blocks), saved)
		}
		saved = len(blocks)
		slowest = max(slowest, n.startEnforcing(blocks))
	}
	stop()
	n.compare(crowd, limit)
	if aside, err := filepath.Glob(n.Path("state/*.aside*")); err != nil || len(aside) != 0 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	t.Logf("slowest from start to the last of at most %d blocks enforced: %v", saved, slowest.Round(time.Millisecond))
}

// load writes to the log, 20 times a second, until the function is called that
// it returns.
func load(t *testing.T, c *crowd, log *os.File) (stop func()) {
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := c.write(log, size(250, 1000)); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	end := sync.OnceFunc(func() { close(done); writing.Wait() })
	t.Cleanup(end)
	return end
}

// savedState is what a state file holds.
type savedState struct {
	blocks []netip.Prefix
	place  accesslog.Position // of the last log
}

// saved reads the state file, which is whole or the test fails, as of a time.
func (n *node) saved(at time.Time) savedState { n.t.Helper(); return n.savedIn("state", at) }

func (n *node) savedIn(folder string, at time.Time) savedState {
	n.t.Helper()
	var s savedState
	file := n.Path(folder + "/node.state")
	if n.As != nil { // root reads no state from a folder of somebody else's
		file = n.copied(file)
	}
	_, err := snapshot.LoadFile(file, at, snapshot.Sink{
		Meter: func(snapshot.Meter) func(*snapshot.Window) { return nil },
		Block: func(b *snapshot.Block) { s.blocks = append(s.blocks, b.Block.Prefix) },
		Position: func(p snapshot.Position) {
			if err := json.Unmarshal(p.Place, &s.place); err != nil {
				n.t.Error(err)
			}
		},
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.t.Fatalf("the state: %v", err)
	}
	return s
}

// copied copies a file, if it is there, to where nobody else may write.
func (n *node) copied(file string) string {
	n.t.Helper()
	to := filepath.Join(n.t.TempDir(), filepath.Base(file))
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.t.Fatal(err)
	}
	return to
}

// startEnforcing starts the node, asks for each of the blocked as soon as it
// answers at all, and wants each refused. It returns how long that took.
func (n *node) startEnforcing(blocked []netip.Prefix) time.Duration {
	n.t.Helper()
	begun := time.Now()
	n.Launch()
	ask := n.asker()
	for i, p := range blocked {
		if refused, err := ask.nginx(p.Addr().String()); err != nil || !refused {
			n.t.Fatalf("answer %d: %v is saved as blocked, and was let through (%v)", i+1, p, err)
		}
	}
	return time.Since(begun)
}

// compare waits until the node has read the log to its end, and compares what
// it counts and blocks with the crowd.
func (n *node) compare(c *crowd, limit int) {
	n.t.Helper()
	n.Until("the admin answers", func() bool { _, err := n.admin.Status(n.t.Context()); return err == nil })
	last := netip.MustParseAddr("203.0.113.1") // its line is the last: what is counted of it was read after all others
	log, err := os.OpenFile(n.Path("access.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Write(c.liner.line(nil, time.Now(), last, "GET", "/", 200)); err != nil {
		n.t.Fatal(err)
	}
	n.Until("the last line is counted", func() bool { return n.count(last) == 1 })

	blocks, wrong, total := n.blocks(), 0, 0
	for i, addr := range c.clients {
		total += c.lines[i]
		counted := n.count(addr)
		_, blocked := blocks[netip.PrefixFrom(addr, 32)]
		if counted != c.lines[i] || blocked != (c.lines[i] > limit) {
			if wrong++; wrong < 5 {
				n.t.Errorf("%v: %d lines, %d counted, blocked: %t", addr, c.lines[i], counted, blocked)
			}
		}
	}
	if wrong > 0 {
		n.t.Errorf("%d of %d addresses are wrong", wrong, len(c.clients))
	}
	n.t.Logf("%d lines of %d addresses, %d blocked", total, len(c.clients), len(blocks))
}
