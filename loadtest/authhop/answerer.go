package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/sensor/httpauth"
	"edgeguard/sensor/spoe"
	"edgeguard/shard"
)

// answer is one answerer until standard input ends, which it does when the
// program that started it does.
func answer(kind, listen string) error {
	network, address := "tcp", listen
	if path, ok := strings.CutPrefix(listen, "unix:"); ok {
		network, address = "unix", path
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	if network == "unix" {
		if err := os.Chmod(address, 0o666); err != nil {
			return err
		}
	}
	serve, err := answerer(kind)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- serve(l) }()
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(ended) }()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

func answerer(kind string) (serve func(net.Listener) error, err error) {
	empty := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	switch kind {
	case "nethttp":
		return func(l net.Listener) error { return http.Serve(l, empty) }, nil
	case "floor":
		return floor, nil
	case "edgeguard", "lookup":
		s, err := httpauth.New(httpauth.Config{Decide: decider(), LookUp: kind == "lookup"})
		if err != nil {
			return nil, err
		}
		return s.Serve, nil
	case "spoe":
		s, err := spoe.New(spoe.Config{Decide: decider(), Admit: func(_ context.Context, c net.Conn) (net.Conn, error) { return c, nil }})
		if err != nil {
			return nil, err
		}
		return s.Serve, nil
	case "guard":
		guard, err := httpauth.Middleware(httpauth.Config{Decide: decider(), Header: "X-Real-IP"})
		if err != nil {
			return nil, err
		}
		return func(l net.Listener) error { return http.Serve(l, guard(empty)) }, nil
	}
	return nil, fmt.Errorf("no answerer %q", kind)
}

// decider decides as a node does: two rules, an allowlist, a blocklist. The
// limit is out of reach, so that every request passes.
func decider() edgeguard.Decider {
	set, problems := rules.Compile([]rules.Spec{
		{Name: "site", Threshold: 60_000},
		{Name: "login", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/wp-login.php"}}},
	})
	if len(problems) > 0 {
		panic(problems)
	}
	list := blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: list, Seed: uint64(time.Now().UnixNano())})
	return d.Decide
}

// floor is the least that can answer in Go: what it costs is the sockets'.
func floor(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 0, 16<<10)
			for {
				n, err := c.Read(buf[len(buf):cap(buf)])
				if err != nil {
					return
				}
				buf = buf[:len(buf)+n]
				if !bytes.HasSuffix(buf, []byte("\r\n\r\n")) {
					continue
				}
				buf = buf[:0]
				if _, err := c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")); err != nil {
					return
				}
			}
		}()
	}
}
