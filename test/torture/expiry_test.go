package torture

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// term is one block and what was seen of it.
type term struct {
	addr  netip.Addr
	until time.Time
	over  bool // it was let through
}

// check asks about the address and holds the answer against the block's end.
// A question that failed, because the node was away, says nothing.
func (b *term) check(ask *asker) (wrong string, err error) {
	before := time.Now()
	refused, err := ask.nginx(b.addr.String())
	after := time.Now()
	switch {
	case err != nil:
	case refused && b.over:
		wrong = "refused again after it was let through"
	case refused && before.After(b.until.Add(5*time.Second)):
		wrong = "still refused"
	case !refused && after.Before(b.until.Add(-time.Second)):
		wrong = "let through already"
	default:
		b.over = !refused
	}
	if wrong != "" {
		wrong = fmt.Sprintf("%v, blocked until %v: %s at %v", b.addr, b.until, wrong, before)
	}
	return wrong, err
}

// Fault 22: blocks end when they said, through restarts: none is enforced more
// than 5 s late, none released more than 1 s early, and nothing is left of
// them. The real clock is the subject: this test takes as long as its blocks.
func TestBlocksEndInTime(t *testing.T) {
	address, span := program.Address(t), time.Duration(size(12, 60))*time.Second
	n := newNode(t, strings.ReplaceAll(`
node: test
state: $DIR/state
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: nothing}], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{listen: "tcp:`+address+`", emit: request}]}
rules:
  - {name: site, threshold: 1, guard: 1, window: 1m, block_for: SPAN}
enforce: {files: [{file: $DIR/deny.txt, format: plain}]}
`, "SPAN", span.String()))
	n.start()
	rng := newRand(t)
	terms := n.blockMany(n.dial("tcp", address), size(1000, 100_000))

	first := terms[0].until.Add(-span)
	// Ended in peace, which saves them all, and killed from then on; the last
	// time while they end.
	ends := []time.Time{first.Add(span / 2), first.Add(span * 3 / 4), terms[0].until}
	restarts := 0
	ask := n.asker()
	open := len(terms)
	for deadline := terms[len(terms)-1].until.Add(patience); open > 0; {
		open = 0
		for i := range terms {
			// Before each question: a busy machine takes longer for all of them
			// than from one end to the next.
			for restarts < len(ends) && time.Now().After(ends[restarts]) {
				if restarts == 0 {
					n.Stop()
				} else {
					n.Kill()
				}
				time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
				n.Launch()
				ask = n.asker()
				restarts++
			}
			b := &terms[i]
			wrong, err := b.check(ask)
			if wrong != "" || err != nil {
				t.Fatalf("after %d restarts: %s %v", restarts, wrong, err)
			}
			if !b.over {
				open++
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d blocks never end", open)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if restarts < len(ends) {
		t.Errorf("%d restarts only: nothing was tested", restarts)
	}
	n.nothingLeft()
	t.Logf("%d blocks of %v, %d restarts", len(terms), span, restarts)
}

// blockMany has addresses blocked by the rule and says until when each is.
func (n *node) blockMany(log net.Conn, many int) []term {
	n.t.Helper()
	var liner liner
	var page []byte
	for i := range many {
		client := netip.AddrFrom4([4]byte{198, 18 + byte(i>>16), byte(i >> 8), byte(i)})
		if i%2 == 1 {
			client = netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x00::1", i>>8, i&0xff)) // a /56 each: those are counted, too
		}
		for range 2 {
			page = liner.line(page, time.Now(), client, "GET", "/", 200)
		}
		if len(page) > 1<<15 || i == many-1 {
			if _, err := log.Write(page); err != nil {
				n.t.Fatal(err)
			}
			page = page[:0]
		}
	}
	n.Until("all are blocked", func() bool { s := n.status(); return s.V4+s.V6 == many })
	var terms []term
	for p, b := range n.blocks() {
		terms = append(terms, term{addr: p.Addr(), until: b.Until})
		if b.Until.Before(terms[0].until) {
			last := len(terms) - 1
			terms[0], terms[last] = terms[last], terms[0]
		}
	}
	if len(terms) != many {
		n.t.Fatalf("%d of %d blocks are listed: the rest were over before", len(terms), many)
	}
	return terms
}

// nothingLeft wants no block in the list, in the file that is enforced, and in
// what a start would take from the state.
func (n *node) nothingLeft() {
	n.t.Helper()
	if blocks := n.blocks(); len(blocks) != 0 {
		n.t.Errorf("%d blocks are listed after their end", len(blocks))
	}
	n.Until("the list in the file is empty", func() bool {
		text, err := os.ReadFile(n.Path("deny.txt"))
		return err == nil && !strings.Contains(string(text), "198.18.") && !strings.Contains(string(text), "2001:db8")
	})
	n.Until("no block is kept", func() bool { s := n.status(); return s.V4+s.V6 == 0 })
	n.Stop()
	if s := n.saved(time.Now()); len(s.blocks) != 0 {
		n.t.Errorf("%d blocks would be restored after their end", len(s.blocks))
	}
}
