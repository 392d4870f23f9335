package tools

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/program"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
	"edgeguard/sensor/httpauth"
	"edgeguard/sensor/inline"
	"edgeguard/shard"
)

// answererVariable makes the test's program an answerer: its kind and where it listens.
const answererVariable = "TOOLS_ANSWERER"

func TestMain(m *testing.M) {
	kind, address, found := strings.Cut(os.Getenv(answererVariable), " ")
	if !found {
		code := m.Run()
		program.Clean()
		os.Exit(code)
	}
	if err := answer(kind, address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// BenchmarkDirect compares edgeguard's forward auth with the floor, a loop around epoll
// that answers a constant, by turns and without a proxy: what the process takes for a
// request, and how often its threads go to sleep. What asks is the same for both, on the same
// machine:
//
//	go test -run '^$' -bench Direct -benchtime 1x ./loadtest/tools
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
	address := program.Address(b)
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
	program.Eventually(b, "the answerer listens", func() bool {
		c, err := net.Dial("tcp", address)
		return err == nil && c.Close() == nil
	})
	return &answererProcess{c.Process.Pid, address}
}

// used returns the processor time that an answerer has used, and how often a thread of it went
// to sleep.
func (p *answererProcess) used(b *testing.B) (used time.Duration, sleeps int) {
	b.Helper()
	used, err := processTime(p.pid)
	if err != nil {
		b.Fatal(err)
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.pid)) // the pattern is good
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		_, switches, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:"))
		n, err := leading(switches, err)
		if err != nil {
			b.Fatal(err)
		}
		sleeps += n
	}
	return used, sleeps
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
	usedBefore, sleepsBefore := p.used(b)
	began := time.Now()
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
	used, sleeps := p.used(b)
	n := float64(d.requests)
	return taken{float64(used-usedBefore) / 1000 / n, float64(sleeps-sleepsBefore) / n, rate}
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
		request = appendQuestion(request[:0], traffic.Request{Client: rand.Uint32N(10_000)}.Addr(), d.kept)
		if _, err := c.Write(request); err != nil {
			return err
		}
		if status, _, err := readAnswer(r); err != nil || status != passes {
			return fmt.Errorf("answered %d: %w", status, err)
		}
		if !d.kept {
			return nil
		}
	}
	return nil
}

// appendQuestion writes what nginx asks about a client.
func appendQuestion(b []byte, from netip.Addr, kept bool) []byte {
	b = append(b, "GET /auth/nginx HTTP/1.1\r\nHost: site.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"+
		"Sec-Fetch-Site: same-origin\r\nX-Original-URI: /x.txt\r\nX-Original-Method: GET\r\nX-Real-IP: "...)
	b = from.AppendTo(b)
	b = fmt.Appendf(b, "\r\nX-Request-Id: %032x\r\n", rand.Uint64())
	if !kept {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

// answer is an answerer until standard input ends, which it does when the program that
// started it does.
func answer(kind, address string) error {
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if kind == "epoll" {
		return answerByEpoll(l)
	}
	s, err := httpauth.New(inline.Config{Decide: decider()})
	if err != nil {
		return err
	}
	return s.Serve(l)
}

// decider decides as a node does: two rules, an allowlist, a blocklist. The limit is out of
// reach, so that every request passes.
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

// answerByEpoll is the least that can answer: one thread, and no limit or deadline. A request is
// what one read returns.
func answerByEpoll(l net.Listener) error {
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
