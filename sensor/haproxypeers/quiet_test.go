package haproxypeers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/haproxy/peers"
)

// stamps are how old increases were when they were counted.
type stamps struct {
	mu     sync.Mutex // guards what is below
	count  uint32
	oldest time.Duration
	newest time.Duration
}

// counter is [Config.Count].
func (s *stamps) counter() Counter {
	return func(now time.Time, _ string, increases []peers.Increase) peers.Outcome {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, in := range increases {
			if in.Column == 0 {
				age := now.Sub(in.At)
				if s.count == 0 || age < s.newest {
					s.newest = age
				}
				s.count, s.oldest = s.count+in.N, max(s.oldest, age)
			}
		}
		return peers.Outcome{Known: true}
	}
}

func (s *stamps) take() (count uint32, oldest, newest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.count, s.oldest, s.newest = 0, 0, 0 }()
	return s.count, s.oldest, s.newest
}

// learn makes the tables of a HAProxy known.
func (h *realHAProxy) learn() {
	for range 2 {
		h.send(peers.AppendControl(peers.AppendDefinition(nil, &counts), peers.ResyncFinished))
		h.settle()
	}
}

// quiet lets time pass with heartbeats alone.
func (h *realHAProxy) quiet(d time.Duration) {
	for ; d > 0; d -= heartbeatEvery {
		h.control(peers.Heartbeat)
		time.Sleep(heartbeatEvery - 2*readPause)
	}
}

// A HAProxy that has little to do sends a heartbeat now and then: what it counts then is as
// new as that of a busy one. So it is where its first requests come after hours, at a rate
// at which no two are read shortly after each other, and after a reload.
func TestQuietHAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stamps
		x := newTrial(t, Config{Table: "counts_1", Columns: 2, Every: NoColumn, Count: s.counter})
		h := x.ha("ha1", 1)
		h.learn()
		h.quiet(time.Hour)
		h.send(counted(&counts, 1, "192.0.2.1", 1000, 0))
		h.settle()
		if n, oldest, _ := s.take(); n != 1000 || oldest > time.Second {
			t.Errorf("after an hour: %d counted, up to %v old", n, oldest)
		}
		for i := range uint64(300) {
			time.Sleep(time.Second)
			h.send(counted(&counts, uint32(i)+2, "192.0.2.1", 1001+i, 0))
		}
		h.settle()
		if n, oldest, _ := s.take(); n != 300 || oldest > 100*time.Millisecond {
			t.Errorf("one each second: %d counted, up to %v old", n, oldest)
		}
		h.quiet(time.Minute)
		h = x.ha("ha1", 2)
		h.learn()
		h.send(counted(&counts, 1, "192.0.2.2", 50, 0))
		h.settle()
		if n, oldest, _ := s.take(); n != 50 || oldest > time.Second {
			t.Errorf("after a reload: %d counted, up to %v old", n, oldest)
		}
	})
}

// TLS returns one record, however many wait: after a stall, a short read does not say that
// no older count comes.
func TestStallOverTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var s stamps
		x := newTrial(t, Config{Table: "counts_1", Columns: 2, Every: NoColumn, Count: s.counter})
		var stopped atomic.Int64
		x.server.config.Now = func() time.Time { return time.Now().Add(time.Duration(stopped.Load())) }
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		x.pipes.come <- tls.Server(near, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}})
		h := &realHAProxy{t: t, conn: tls.Client(far, &tls.Config{InsecureSkipVerify: true}), quit: make(chan struct{})}
		h.send([]byte(hello("ha1", 1)))
		go h.listen()
		time.Sleep(askAfter)
		h.learn()
		h.quiet(time.Minute)
		stopped.Store(int64(500 * time.Millisecond)) // edgeguard does not run
		for i := range uint64(10) {
			h.send(counted(&counts, uint32(i)+1, "192.0.2.1", i+1, 0))
		}
		time.Sleep(time.Second)
		if n, _, newest := s.take(); n != 10 || newest < 500*time.Millisecond {
			t.Errorf("%d counted, the newest %v after it was read", n, newest)
		}
		h.quiet(12 * time.Second)
		h.send(counted(&counts, 11, "192.0.2.1", 11, 0))
		h.settle()
		if n, oldest, _ := s.take(); n != 1 || oldest > 100*time.Millisecond {
			t.Errorf("later: %d counted, %v old", n, oldest)
		}
	})
}
