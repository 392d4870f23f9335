package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"edgeguard/admin/server"
)

// bounded serves a handler on loopback until the test ends, and returns its address.
func bounded(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server.BoundedServer{
		Handler: handler, Places: 30, MayListen: func(net.Addr) error { return nil },
		Connected: func(ctx context.Context, _ net.Conn) context.Context { return ctx },
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); serving.Wait() })
	return l.Addr().String()
}

// pipeline sends many requests together on a connection of its own, and reads the answers.
func pipeline(t *testing.T, wg *sync.WaitGroup, at, path string, requests int) {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		defer c.Close()
		if _, err := io.WriteString(c, strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n", requests)); err != nil {
			t.Error(err)
		}
		answers := bufio.NewReader(c)
		for range requests {
			if _, err := http.ReadResponse(answers, nil); err != nil {
				t.Error(err)
				return
			}
		}
	})
}

// Connections that have sent many requests together take turns, with one processor, too.
func TestPipelinesTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const requests, conns = 500, 3
	var mu sync.Mutex // guards order
	var order []string
	var come sync.WaitGroup // each connection's first request waits for the others'
	come.Add(conns)
	at := bounded(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		first := !slices.Contains(order, r.URL.Path)
		order = append(order, r.URL.Path)
		mu.Unlock()
		if first {
			come.Done()
			come.Wait()
		}
	})
	var wg sync.WaitGroup
	for i := range conns {
		pipeline(t, &wg, at, fmt.Sprint("/", i), requests)
	}
	wg.Wait()
	if len(order) != conns*requests {
		t.Fatalf("%d requests were answered", len(order))
	}
	had := map[string]int{}
	for _, path := range order {
		if had[path]++; had[path] == requests {
			break
		}
	}
	for i := range conns {
		if path := fmt.Sprint("/", i); had[path] < requests/2 {
			t.Errorf("one connection had all %d answers, and another %d", requests, had[path])
		}
	}
}
