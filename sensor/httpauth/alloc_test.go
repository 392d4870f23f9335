package httpauth

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/lobby"
	"edgeguard/sensor/inline"
)

const nginxAsks = "GET /auth/nginx HTTP/1.1\r\nHost: site.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0)\r\nX-Real-IP: 203.0.113.9\r\n" +
	"X-Original-URI: /login?a=1\r\nX-Original-Method: POST\r\nX-Request-Id: 0af1651916cd43dd8448eb211c80319c\r\n\r\n"

// one is a listener at which one connection comes.
type one struct {
	net.Listener
	conn net.Conn
}

func (o one) Accept() (net.Conn, error) { return o.conn, nil }

// alone gives a connection a lobby of its own.
func alone(c net.Conn) *lobby.Conn {
	in, _ := lobby.Listen(one{conn: c}, 1, "").Accept()
	return in.(*lobby.Conn)
}

func passAll(time.Time, *edgeguard.Event) edgeguard.Verdict { return edgeguard.Verdict{} }

// TestPassDoesNotAllocate compares a connection with many requests to one with
// few: what differs is the requests'.
func TestPassDoesNotAllocate(t *testing.T) {
	s, err := New(inline.Config{Decide: passAll})
	if err != nil {
		t.Fatal(err)
	}
	converse := func(n int) float64 {
		sent := []byte(strings.Repeat(nginxAsks, n))
		return testing.AllocsPerRun(20, func() {
			c := &tape{in: bytes.NewReader(sent)}
			c.out.Grow(1 << 16)
			s.converse(&conn{Conn: alone(c)})
		})
	}
	few, many := converse(10), converse(510)
	if perRequest := (many - few) / 500; perRequest > 0.9 { // the collector, and the race detector on purpose, empty pools
		t.Errorf("%.2f allocations a request", perRequest)
	}
}

func BenchmarkPass(b *testing.B) {
	s, err := New(inline.Config{Decide: passAll})
	if err != nil {
		b.Fatal(err)
	}
	const batch = 100
	sent := []byte(strings.Repeat(nginxAsks, batch))
	b.ReportAllocs()
	for b.Loop() {
		s.converse(&conn{Conn: alone(&tape{in: bytes.NewReader(sent)})})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/request")
}
