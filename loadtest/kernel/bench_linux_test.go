package kernel

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// echo answers datagrams until its socket is closed.
func echo(c *net.UDPConn) {
	buf := make([]byte, 64)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		_, _ = c.WriteToUDPAddrPort(buf[:n], from) // one that is lost counts as dropped, and is seen as an early end
	}
}

// ask sends a request and returns the status of its answer.
func ask(c net.Conn, r *bufio.Reader, path string) (int, error) {
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a.test\r\nUser-Agent: kernel\r\n\r\n"); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

const (
	crossing = 20 // the request of rule login that goes over its limit: 20 × 0.95
	probing  = time.Millisecond
	silence  = 2 * time.Second // without an answer, after which a client is dropped
)

// BenchmarkCrossing takes the time from a request that crosses a limit, counted from
// nginx's buffered log, until the kernel drops packets of its client: the moment
// of its first datagram of one each millisecond that has no answer, nor any after it.
func BenchmarkCrossing(b *testing.B) {
	d := newBed(b, "enforce: {nftables: {}}", false)
	server := d.site.udp(host+":7", "")
	go echo(server)
	const together = 8
	for b.Loop() {
		took := make([]time.Duration, clients)
		var next atomic.Int64
		var all sync.WaitGroup
		for range together {
			all.Go(func() {
				for n := int(next.Add(1)) - 1; n < clients; n = int(next.Add(1)) - 1 {
					took[n] = d.dropped(client(n))
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		b.ReportMetric(took[clients/2].Seconds()*1e3, "p50-ms")
		b.ReportMetric(took[clients*99/100].Seconds()*1e3, "p99-ms")
		b.ReportMetric(took[clients-1].Seconds()*1e3, "max-ms")
	}
}

// dropped has a client cross the limit at any moment of nginx's buffer, and returns
// how long its packets still arrived.
func (d *bed) dropped(from netip.Addr) time.Duration {
	c := d.outside.dial(from)
	defer c.Close()
	r := bufio.NewReader(c)
	for range crossing - 1 {
		if status, err := ask(c, r, "/login"); err != nil || status != http.StatusNoContent {
			d.b.Errorf("before the limit: %d, %v", status, err)
			return 0
		}
	}
	probe := d.outside.udp(from.String()+":0", host+":7")
	defer probe.Close()
	time.Sleep(rand.N(200 * time.Millisecond))
	began := time.Now()
	if _, err := ask(c, r, "/login"); err != nil {
		d.b.Error(err)
		return 0
	}
	sent := make(chan []time.Duration)
	stop := make(chan struct{})
	go func() {
		var at []time.Duration
		for tick := time.NewTicker(probing); ; {
			select {
			case <-stop:
				tick.Stop()
				sent <- at
				return
			case <-tick.C:
				at = append(at, time.Since(began))
				_, _ = fmt.Fprint(probe, len(at)-1)
			}
		}
	}()
	last := d.lastAnswered(probe)
	close(stop)
	at := <-sent
	if last+1 >= len(at) {
		d.b.Errorf("%v: the last datagram was answered", from)
		return 0
	}
	return at[last+1]
}

// lastAnswered returns the number of the last datagram that has an answer.
func (d *bed) lastAnswered(probe *net.UDPConn) int {
	last, buf := -1, make([]byte, 64)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_ = probe.SetReadDeadline(time.Now().Add(silence))
		n, err := probe.Read(buf)
		if err != nil {
			return last
		}
		if number, err := strconv.Atoi(string(buf[:n])); err == nil {
			last = max(last, number)
		}
	}
	d.b.Error("it is never dropped")
	return last
}

// BenchmarkRefusal compares what one refusal costs in CPU, in the same run: the answer
// 429 of nginx that asks edgeguard, and a packet that the kernel drops. The second is
// what the thread of its sender uses, on which the kernel receives it, with the
// sending.
func BenchmarkRefusal(b *testing.B) {
	const requests, packets, rounds = 5_000, 400_000, 5
	d := newBed(b, "enforce: {nftables: {}}", true)
	answered, droppedClient := client(0), client(1)
	d.edgeguard("enforce", "clear") // for the answer, the kernel must let it in
	d.edgeguard("blocks", "add", answered.String(), "--for", "1h", "--force")
	d.edgeguard("blocks", "add", droppedClient.String(), "--for", "1h", "--force")
	c := d.outside.dial(answered)
	r := bufio.NewReader(c)
	var answers, drops, passes []float64
	send := func() float64 { return d.send(droppedClient, packets) }
	for b.Loop() {
		for range rounds {
			d.edgeguard("enforce", "clear")
			before := d.cpu()
			for range requests {
				if status, err := ask(c, r, "/"); err != nil || status != http.StatusTooManyRequests {
					b.Fatalf("%d, %v", status, err)
				}
			}
			answers = append(answers, float64(d.cpu()-before)/requests)
			passes = append(passes, send())
			d.edgeguard("enforce", "resume")
			d.node.Until("the kernel drops", func() bool {
				return strings.Contains(d.site.run("nft", "list", "set", "inet", "edgeguard", "blocked4"), droppedClient.String())
			})
			drops = append(drops, send())
		}
	}
	slices.Sort(answers)
	slices.Sort(drops)
	slices.Sort(passes)
	answer, drop := answers[len(answers)/2], drops[len(drops)/2]
	b.ReportMetric(answer/1e3, "µs/429")
	b.ReportMetric(drop, "ns/drop")
	b.ReportMetric(passes[len(passes)/2], "ns/unreachable")
	b.ReportMetric(answer/drop, "429/drop")
}

// send sends small datagrams to a port on which nothing listens, and returns the
// nanoseconds of CPU of each.
func (d *bed) send(from netip.Addr, packets int) (each float64) {
	d.outside.do(func() error {
		s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(s) }()
		if err := unix.Bind(s, &unix.SockaddrInet4{Addr: from.As4()}); err != nil {
			return err
		}
		to, text := &unix.SockaddrInet4{Port: 9, Addr: netip.MustParseAddr(host).As4()}, make([]byte, 64)
		before := threadTime()
		for range packets {
			_ = unix.Sendto(s, text, 0, to) // refused by an answer to the one before
		}
		each = float64(threadTime()-before) / float64(packets)
		return nil
	})
	return each
}

// threadTime is the CPU that this thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // of this thread it cannot fail
	return time.Duration(t.Nano())
}

// cpu is what nginx and the node have used.
func (d *bed) cpu() (sum time.Duration) {
	pids := []string{strconv.Itoa(d.node.PID()), strconv.Itoa(d.nginx.Process.Pid)}
	children, err := os.ReadFile("/proc/" + pids[1] + "/task/" + pids[1] + "/children")
	d.must(err)
	for _, pid := range append(pids, strings.Fields(string(children))...) {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		d.must(err)
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, err := strconv.Atoi(field)
			d.must(err)
			sum += time.Duration(ticks) * time.Second / 100
		}
	}
	return sum
}
