package accesslog

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
	"edgeguard/logline"
)

const (
	combHead = `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] `
	maxJSON  = 8 << 20 // the longest JSON line that logline reads
)

// TestReaderOverlongJSON holds that a JSON line that is longer than a block, and
// than several, is read to its end, wherever in a block it begins and ends.
func TestReaderOverlongJSON(t *testing.T) {
	for _, first := range []int{0, 1, blockSize / 2, blockSize - 200, blockSize - 1, blockSize} {
		for _, long := range []int{blockSize - 200, blockSize, 3*blockSize - 70, 3 * blockSize} {
			log := fmt.Appendf(nil, `{"x":"%s","ts":1455926445,"ip":"192.0.2.1","uri":"/0"}`+"\n", strings.Repeat("x", first))
			log = fmt.Appendf(log, `{"ip":"9.9.9.9","ts":1455926445,"x":"%s","remote_addr":"192.0.2.1","uri":"/1"}`+"\n", strings.Repeat("x", long))
			log = append(log, `{"ts":1455926445,"ip":"192.0.2.1","uri":"/2"}`...)
			for _, file := range [][]byte{log, append(log, '\n'), compressed(t, log)} {
				r, err := Open(write(t, file), format("json"), Options{})
				if err != nil {
					t.Fatal(err)
				}
				events, err := drain(r)
				r.Close()
				var got []string
				for i := range events {
					got = append(got, events[i].Addr.String()+events[i].Path)
				}
				if err != io.EOF || !slices.Equal(got, []string{"192.0.2.1/0", "192.0.2.1/1", "192.0.2.1/2"}) {
					t.Fatalf("lines of %d and %d bytes: %v, %v", first, long, got, err)
				}
			}
		}
	}
}

// told hears of uncounted requests.
type told struct {
	mu  sync.Mutex // guards what follows
	all []edgeguard.Uncounted
}

func (u *told) hear(_ time.Time, requests []edgeguard.Uncounted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, requests...)
}

func (u *told) reasons() (all []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range u.all {
		all = append(all, fmt.Sprint(r.Addr, " ", r.Reason))
	}
	return all
}

// TestFollowOverlong holds that an over-long line is one event, also when the
// process ends in the middle of it, and however it is written.
func TestFollowOverlong(t *testing.T) {
	jsonLine := func(n, size int) string {
		return fmt.Sprintf(`{"ts":1455926445,"request":{"client_ip":"192.0.2.1","uri":"/%d","headers":{"X":["%s"]}}}`+"\n", n, strings.Repeat("x", size))
	}
	textLine := func(n, size int) string {
		return fmt.Sprintf(combHead+`"GET /%d HTTP/1.1" 200 5 "-" "%s"`+"\n", n, strings.Repeat("x", size))
	}
	for _, test := range []struct {
		format string
		line   func(n, size int) string
		cut    []string // what is told of a line
	}{
		{"json", jsonLine, nil},
		{"combined", textLine, []string{"192.0.2.1 field_cut"}},
	} {
		t.Run(test.format, func(t *testing.T) {
			format, err := logline.ParseFormat(test.format)
			if err != nil {
				t.Fatal(err)
			}
			l := newLog(t)
			h, u := &heard{}, &told{}
			config := FollowConfig{Live: Live{Format: format, Uncounted: u.hear}, File: l.path, Beginning: true}
			long := test.line(1, 1<<20)
			l.text(test.line(0, 10) + long[:300_000])
			f := follow(t, h, config)
			program.Eventually(t, "the short line", func() bool { once, _ := h.of(1); return once == 1 })
			program.Eventually(t, "the beginning of the long one is read", func() bool { return f.in.read().Lines >= 2 })
			f.stop()
			config.From = f.Position()
			l.text(long[300_000:600_000])
			f = follow(t, h, config)
			program.Eventually(t, "it is read on", func() bool { return len(f.Position().Files) == 1 })
			l.text(long[600_000:] + test.line(2, 10))
			program.Eventually(t, "all three", func() bool { once, _ := h.of(3); return once == 3 })
			l.text(test.line(3, 100_000) + test.line(4, 200_000) + test.line(5, 10))
			program.Eventually(t, "all six", func() bool { once, _ := h.of(6); return once == 6 })
			f.stop()
			if _, twice := h.of(6); twice > 0 {
				t.Errorf("%d lines are counted twice: %v", twice, h.times)
			}
			if want := slices.Concat(test.cut, test.cut, test.cut); !slices.Equal(u.reasons(), want) {
				t.Errorf("told of %v, want %v", u.reasons(), want)
			}
			if cap(f.buf) > 2*blockSize {
				t.Errorf("%d bytes of room", cap(f.buf))
			}
		})
	}
}

// TestFollowOverMost holds that a line that is too long is passed over, told of
// once, and that the line behind it counts, also after a restart within it.
func TestFollowOverMost(t *testing.T) {
	l := newLog(t)
	h, u := &heard{}, &told{}
	config := FollowConfig{Live: Live{Format: format("json"), Uncounted: u.hear}, File: l.path, Beginning: true}
	l.text(`{"ts":1,"ip":"192.0.2.1","x":"` + strings.Repeat("x", maxJSON+blockSize))
	f := follow(t, h, config)
	program.Eventually(t, "it is told", func() bool { return len(u.reasons()) == 1 })
	f.stop()
	config.From = f.Position()
	l.text(`","uri":"/7"}` + "\n" + `{"ts":1,"ip":"192.0.2.1","uri":"/1"}` + "\n")
	follow(t, h, config)
	program.Eventually(t, "the line behind it", func() bool { once, _ := h.of(2); return once == 1 })
	if got := u.reasons(); !slices.Equal(got, []string{"invalid IP line_too_long"}) || h.times[7] > 0 {
		t.Errorf("told of %v, counted %v", got, h.times)
	}
}

// TestFollowOverlongRewritten empties the log while a long line is read.
func TestFollowOverlongRewritten(t *testing.T) {
	l := newLog(t)
	h := &heard{}
	l.text(`{"ts":1,"ip":"192.0.2.1","uri":"/0","x":"` + strings.Repeat("x", 300_000))
	f := follow(t, h, FollowConfig{Live: Live{Format: format("json")}, File: l.path, Beginning: true})
	program.Eventually(t, "its beginning is read", func() bool { return f.in.read().Lines == 1 })
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	program.Eventually(t, "the emptying is seen", func() bool { return f.Stats().Truncations == 1 })
	// The rest of the line that was cut off is no line.
	l.text(`","uri":"/5"}` + "\n" + `{"ts":1,"ip":"192.0.2.1","uri":"/1"}` + "\n")
	program.Eventually(t, "the line behind it", func() bool { once, _ := h.of(2); return once == 1 })
	if h.times[5] > 0 || h.times[0] > 0 {
		t.Errorf("counted %v", h.times)
	}
}

// TestListenOverlong holds the same for what is received, on connections that
// send at once.
func TestListenOverlong(t *testing.T) {
	h, u := &heard{}, &told{}
	l := listen(t, h, ListenConfig{Live: Live{Format: format("json"), Uncounted: u.hear}, Address: "tcp:127.0.0.1:0"})
	a, b := dial(t, "tcp", l.Addr().String()), dial(t, "tcp", l.Addr().String())
	line := func(n int) (head, rest string) {
		return fmt.Sprintf(`{"ts":1455926445,"uri":"/%d","x":"%s`, n, strings.Repeat("x", 400_000)),
			fmt.Sprintf(`%s","ip":"192.0.2.%d"}`+"\n", strings.Repeat("x", 400_000), n)
	}
	headA, restA := line(0)
	headB, restB := line(1)
	send(t, a, headA)
	send(t, b, headB)
	send(t, a, restA)
	send(t, b, restB)
	program.Eventually(t, "both", func() bool { once, _ := h.of(2); return once == 2 })
	send(t, a, headA)
	a.Close()
	program.Eventually(t, "the broken line is told", func() bool { return slices.Equal(u.reasons(), []string{"invalid IP line_unended"}) })
}

// TestUncounted holds why and of whom a line that is not counted is told.
func TestUncounted(t *testing.T) {
	for _, test := range []struct{ name, format, line, want string }{
		{"of another format", "combined", `hello`, "invalid IP no_client"},
		{"no time", "combined", `192.0.2.1 - - [x] "GET / HTTP/1.1" 200 5`, "192.0.2.1 line_misfit"},
		{"host name", "combined", `crawl.example.org - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, "invalid IP no_client"},
		{"an address that a client may have written", "$http_x $remote_addr $msec $status", "x 9.9.9.9 y 1455926445 200", "invalid IP no_client"},
		{"json without an end", "json", `{"ts":1455926445,"remote_addr":"192.0.2.1"`, "invalid IP line_misfit"},
		{"json without an address", "json", `{"ts":1455926445}`, "invalid IP no_client"},
		{"haproxy without a status", "haproxy", `192.0.2.1:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0 x`, "192.0.2.1 line_misfit"},
		{"a cut line", "haproxy", `192.0.2.1:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 "GET /a`, "192.0.2.1 field_cut"},
	} {
		t.Run(test.name, func(t *testing.T) {
			format, err := logline.ParseFormat(test.format)
			if err != nil {
				t.Fatal(err)
			}
			u := &told{}
			in := newInlet(&Live{Format: format, Now: time.Now, Uncounted: u.hear}, "log")
			p := &page{Chunk: logline.Chunk{Text: []byte(test.line + "\n")}}
			now, _ := in.parse(p)
			in.tell(now, p)
			if got := u.reasons(); !slices.Equal(got, []string{test.want}) {
				t.Errorf("told of %v, want %s", got, test.want)
			}
		})
	}
}
