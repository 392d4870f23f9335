package httpauth

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/sensor/inline"
)

// Connections that have sent many requests together take turns, with one processor, too, and
// so do those whose next request is there whenever they read.
func TestPipelinesTakeTurns(t *testing.T) {
	t.Run("together", func(t *testing.T) { takeTurns(t, 1<<20, 4) })
	t.Run("one by one", func(t *testing.T) {
		takeTurns(t, len(oneQuestion(netip.AddrFrom4([4]byte{192, 0, 2, 0}))), 2*mostInTurn)
	})
}

// pieces is a connection that always has something to read, of at most so many bytes.
type pieces struct {
	*tape
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.tape.Read(b[:min(len(b), p.size)]) }

// oneQuestion is as long for every address of 192.0.2.0/29.
func oneQuestion(client netip.Addr) string {
	return fmt.Sprintf("GET /auth/nginx HTTP/1.1\r\nHost: h\r\nX-Real-IP: %-9v\r\n\r\n", client)
}

// takeTurns has connections send pieces of a size, and wants no more answered in one turn.
func takeTurns(t *testing.T, size, most int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const requests, conns = 300, 3
	var mu sync.Mutex // guards order
	var order []netip.Addr
	s, err := New(inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, e.Addr)
		return edgeguard.Verdict{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range conns {
		addr := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		sent := []byte(strings.Repeat(oneQuestion(addr), requests))
		wg.Go(func() { s.converse(&conn{Conn: alone(pieces{&tape{in: bytes.NewReader(sent)}, size})}) })
	}
	wg.Wait()
	longest, run := 0, 0
	for i, addr := range order[:len(order)-requests] { // the last may be alone
		if run++; i > 0 && addr != order[i-1] {
			run = 1
		}
		longest = max(longest, run)
	}
	if len(order) != conns*requests || longest > most {
		t.Errorf("of %d requests, %d of one connection were answered together", len(order), longest)
	}
}

// An answer to who has hung up is one too late; any other is not.
func TestTooLate(t *testing.T) {
	goOn := make(chan struct{})
	inside := make(chan struct{}, 1)
	l := listenUnix(t)
	s := start(t, inline.Config{Decide: func(time.Time, *edgeguard.Event) edgeguard.Verdict {
		inside <- struct{}{}
		<-goOn
		return edgeguard.Verdict{}
	}}, l)
	ask := func(leaves bool) {
		c, err := net.Dial(l.Addr().Network(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET /auth/nginx HTTP/1.1\r\nHost: h\r\nX-Real-IP: 192.0.2.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		<-inside
		if leaves {
			c.Close()
		}
		goOn <- struct{}{}
		if !leaves {
			if _, err := c.Read(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, leaves := range []bool{false, true, false, true} {
		ask(leaves)
		for s.Connections().Open > 0 {
			runtime.Gosched()
		}
		if got := s.Stats().Late; got != uint64(i+1)/2 {
			t.Fatalf("after %d questions, %d were answered too late", i+1, got)
		}
	}
}
