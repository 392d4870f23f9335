//go:build linux

package haproxyload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load sends requests over connections that each wait for their answer, with clients
// drawn at random.
type load struct {
	address  string
	keys     int
	conns    int
	begun    atomic.Int64
	answered atomic.Int64
	broken   atomic.Int64 // connections that ended within a request
}

// send sends so many requests, and returns how long each took.
func (l *load) send(t testing.TB, requests int) (times []time.Duration) {
	t.Helper()
	var left atomic.Int64
	left.Store(int64(requests))
	return l.run(t, func() bool { return left.Add(-1) >= 0 })
}

func (l *load) run(t testing.TB, more func() bool) (times []time.Duration) {
	t.Helper()
	all, errs := make([][]time.Duration, l.conns), make([]error, l.conns)
	var wg sync.WaitGroup
	for i := range l.conns {
		wg.Go(func() {
			for errs[i] == nil && more() {
				all[i], errs[i] = l.connect(t.Context(), all[i], more)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(all...)
}

// connect has one connection until HAProxy closes it, or nothing more is asked for.
// One request is allowed for when it is called.
func (l *load) connect(ctx context.Context, times []time.Duration, more func() bool) ([]time.Duration, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", l.address)
	if err != nil {
		return times, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(c)
	var request []byte
	for {
		request = appendRequest(request[:0], address(rand.IntN(l.keys)))
		l.begun.Add(1)
		began := time.Now()
		if _, err := c.Write(request); err != nil {
			l.broken.Add(1)
			return times, nil // a process that ends may close an idle connection
		}
		status, goesOn, err := readAnswer(r)
		if err != nil {
			l.broken.Add(1)
			return times, nil
		}
		if status != 204 {
			return times, errors.New("HAProxy answered " + strconv.Itoa(status))
		}
		times = append(times, time.Since(began))
		l.answered.Add(1)
		if !goesOn || !more() {
			return times, nil
		}
	}
}

func address(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 18 + byte(n>>16), byte(n >> 8), byte(n)})
}

func appendRequest(b []byte, from netip.Addr) []byte {
	b = append(b, "GET /path HTTP/1.1\r\nHost: site.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"+
		"Accept: text/html,application/xhtml+xml\r\nAccept-Language: en-US,en;q=0.5\r\nX-Src: "...)
	return append(from.AppendTo(b), "\r\n\r\n"...)
}

// readAnswer reads the head of an answer, and its body by its length.
func readAnswer(r *bufio.Reader) (status int, goesOn bool, err error) {
	goesOn, length := true, 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimSpace(bytes.ToLower(line))
		switch {
		case first && len(line) >= 12:
			status, _ = strconv.Atoi(string(line[9:12]))
		case bytes.Equal(line, []byte("connection: close")):
			goesOn = false
		case bytes.HasPrefix(line, []byte("content-length: ")):
			length, _ = strconv.Atoi(string(line[16:]))
		case len(line) == 0:
			_, err := r.Discard(length)
			return status, goesOn, err
		}
	}
}

// quantile returns the value that a share of all does not exceed.
func quantile(all []time.Duration, share float64) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)-1, int(share*float64(len(all))))]
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
