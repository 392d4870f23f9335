package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// answererVariable makes the test's program an answerer: its kind and where it listens.
const answererVariable = "AUTHHOP_ANSWERER"

func TestMain(m *testing.M) {
	kind, listen, found := strings.Cut(os.Getenv(answererVariable), " ")
	if !found {
		os.Exit(m.Run())
	}
	serve := answer
	if kind == "epoll" {
		serve = answerByEpoll
	}
	if err := serve(kind, listen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// BenchmarkDirect compares edgeguard's forward auth with the floor, a loop around epoll
// that answers a constant, by turns and without a proxy: what the process takes for a
// request, and how often its threads go to sleep. What asks is the same for both, on the same
// machine:
//
//	go test -run '^$' -bench Direct -benchtime 1x ./loadtest/authhop
func BenchmarkDirect(b *testing.B) {
	floor, edgeguard := startAnswerer(b, "epoll"), startAnswerer(b, "edgeguard")
	for _, conns := range []int{1, 64} {
		for name, d := range map[string]direct{
			"kept":  {kept: true, conns: conns, requests: 5_000},
			"fresh": {conns: conns, requests: 2_000},
		} {
			b.Run(fmt.Sprint(name, "/", conns), func(b *testing.B) {
				for b.Loop() {
					compareDirect(b, floor, edgeguard, d)
				}
			})
		}
	}
}

// compareDirect reports the least of the rounds: where the kernel places the threads differs
// from one to the next.
func compareDirect(b *testing.B, floor, edgeguard *answererProcess, d direct) {
	var ours, base []taken
	for range 13 {
		base, ours = append(base, floor.take(b, d)), append(ours, edgeguard.take(b, d))
	}
	least := func(of []taken, value func(taken) float64) float64 {
		var all []float64
		for _, one := range of[1:] { // the first warms
			all = append(all, value(one))
		}
		return slices.Min(all)
	}
	micros := func(t taken) float64 { return t.micros }
	sleeps := func(t taken) float64 { return t.sleeps }
	took := func(t taken) float64 { return -t.rate }
	b.ReportMetric(least(ours, micros)/least(base, micros), "times-floor")
	b.ReportMetric(least(ours, micros), "cpu-µs/req")
	b.ReportMetric(least(base, micros), "floor-µs/req")
	b.ReportMetric(least(ours, sleeps), "sleeps/req")
	b.ReportMetric(least(base, sleeps), "floor-sleeps/req")
	b.ReportMetric(-least(ours, took), "req/s")
	b.ReportMetric(-least(base, took), "floor-req/s")
}

// answererProcess is an answerer in a process of its own.
type answererProcess struct {
	pid     int
	address string
}

func startAnswerer(b *testing.B, kind string) *answererProcess {
	b.Helper()
	address, err := freeAddress()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), answererVariable+"="+kind+" "+address)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = c.Wait() }) // it ends with its standard input
	if err := reachable(b.Context(), address); err != nil {
		b.Fatal(err)
	}
	return &answererProcess{c.Process.Pid, address}
}

// used is what an answerer's process has used: nanoseconds of processor time, and how often a
// thread went to sleep.
type used struct{ time, sleeps int }

func (p *answererProcess) used(b *testing.B) (sum used) {
	b.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.pid))
	if err != nil || len(tasks) == 0 {
		b.Fatal("no such process: ", err)
	}
	for _, task := range tasks {
		times, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			b.Fatal(err)
		}
		status, err := os.ReadFile(filepath.Join(task, "status"))
		if err != nil {
			b.Fatal(err)
		}
		_, switches, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:"))
		sum.time += leading(b, times)
		sum.sleeps += leading(b, switches)
	}
	return sum
}

// leading is the number at the beginning of a text.
func leading(b *testing.B, text []byte) int {
	words := bytes.Fields(text)
	if len(words) == 0 {
		b.Fatal("the kernel says nothing")
	}
	n, err := strconv.Atoi(string(words[0]))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// direct is a load without a proxy between, in the words of nginx's snippet.
type direct struct {
	kept            bool // else each request has a connection of its own
	conns, requests int
}

// taken is what an answerer takes for a request.
type taken struct{ micros, sleeps, rate float64 }

func (p *answererProcess) take(b *testing.B, d direct) taken {
	b.Helper()
	before, began := p.used(b), time.Now()
	var left atomic.Int64
	left.Store(int64(d.requests))
	var wg sync.WaitGroup
	for range d.conns {
		wg.Go(func() {
			for left.Load() > 0 {
				if err := d.talk(b.Context(), p.address, &left); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	rate := float64(d.requests) / time.Since(began).Seconds()
	after, n := p.used(b), float64(d.requests)
	return taken{float64(after.time-before.time) / 1000 / n, float64(after.sleeps-before.sleeps) / n, rate}
}

// talk has one connection.
func (d direct) talk(ctx context.Context, address string, left *atomic.Int64) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	r := bufio.NewReader(c)
	var request []byte
	for left.Add(-1) >= 0 {
		request = appendQuestion(request[:0], rand.IntN(10_000), d.kept)
		if _, err := c.Write(request); err != nil {
			return err
		}
		if status, err := readAnswer(r); err != nil || status != 200 {
			return fmt.Errorf("answered %d: %w", status, err)
		}
		if !d.kept {
			return nil
		}
	}
	return nil
}

// appendQuestion writes what nginx asks about client n.
func appendQuestion(b []byte, n int, kept bool) []byte {
	b = append(b, "GET /auth/nginx HTTP/1.1\r\nHost: site.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"+
		"Sec-Fetch-Site: same-origin\r\nX-Original-URI: /x.txt\r\nX-Original-Method: GET\r\nX-Real-IP: "...)
	b = clientAddress(n).AppendTo(b)
	b = fmt.Appendf(b, "\r\nX-Request-Id: %032x\r\n", rand.Uint64())
	if !kept {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

// answerByEpoll is the least that can answer: one thread, and no limit or deadline. A request is
// what one read returns. It ends with its standard input.
func answerByEpoll(_, listen string) error {
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer file.Close()
	listener := int(file.Fd())
	poll, err := syscall.EpollCreate1(0)
	if err != nil {
		return err
	}
	watch := func(fd int) error {
		return syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
	}
	if err := watch(listener); err != nil {
		return err
	}
	events, buf := make([]syscall.EpollEvent, 64), make([]byte, 16<<10)
	for {
		n, err := syscall.EpollWait(poll, events, -1)
		if err != nil && err != syscall.EINTR {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) != listener {
				answerOnce(int(e.Fd), buf)
			} else if fd, _, err := syscall.Accept4(listener, syscall.SOCK_CLOEXEC); err != nil {
				return err
			} else if err := watch(fd); err != nil {
				return err
			}
		}
	}
}

// answerOnce answers what came, or closes.
func answerOnce(fd int, buf []byte) {
	n, err := syscall.Read(fd, buf)
	if err != nil || n <= 0 {
		_ = syscall.Close(fd)
		return
	}
	_, err = syscall.Write(fd, []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	if err != nil || bytes.Contains(buf[:n], []byte("\r\nConnection: close\r\n")) {
		_ = syscall.Close(fd)
	}
}
