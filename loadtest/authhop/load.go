package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// load sends so many requests over so many connections, each waiting for its
// answer, which must be a 200. Clients are drawn from 198.18.0.0/15.
func load(ctx context.Context, address string, o options, requests int) error {
	var left atomic.Int64
	left.Store(int64(requests))
	errs := make([]error, o.conns)
	var wg sync.WaitGroup
	for i := range o.conns {
		wg.Go(func() { errs[i] = talk(ctx, address, o.clients, &left) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func talk(ctx context.Context, address string, clients int, left *atomic.Int64) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	var req []byte
	for left.Add(-1) >= 0 && ctx.Err() == nil {
		req = appendRequest(req[:0], "GET /x.txt", rand.IntN(clients))
		if _, err := c.Write(req); err != nil {
			return err
		}
		status, err := readAnswer(r)
		if err != nil {
			return err
		}
		if status != 200 {
			return fmt.Errorf("the proxy answered %d", status)
		}
	}
	return nil
}

// clientAddress returns the address of client n: of 198.18.0.0/15, and beyond it
// of 10.0.0.0/8.
func clientAddress(n int) netip.Addr {
	b := [4]byte{198, 18 + byte(n>>16), byte(n >> 8), byte(n)}
	if n >= 1<<17 {
		b[0], b[1] = 10, byte(n>>16)
	}
	return netip.AddrFrom4(b)
}

// appendRequest writes what client n sends as its browser does.
func appendRequest(req []byte, what string, n int) []byte {
	req = append(req, what...)
	req = append(req, " HTTP/1.1\r\nHost: site.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"+
		"Accept: text/html,application/xhtml+xml\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\nX-Client: "...)
	return append(clientAddress(n).AppendTo(req), "\r\n\r\n"...)
}

// readAnswer reads an answer with its body.
func readAnswer(r *bufio.Reader) (status int, err error) {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if after, ok := bytes.CutPrefix(line, []byte("HTTP/1.1 ")); ok {
			status, _ = strconv.Atoi(string(after[:min(3, len(after))])) // 0 is no good status either
		}
		if value, ok := bytes.CutPrefix(bytes.ToLower(line), []byte("content-length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	_, err = io.CopyN(io.Discard, r, int64(length))
	return status, err
}
