package overredis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edgeguard/internal/redistest"
)

// tiny is a run that a test has time for.
var tiny = sizes{botnet: 400, requests: 1000, clients: 20, slots: 1, singles: 20, fill: 500, settle: time.Millisecond,
	only: []string{"slot-boundary", "weighted", "botnet", "spread"}}

// runTiny runs it, with a Redis or without.
func runTiny(t *testing.T, ctx context.Context, o Options, notes *strings.Builder) (*run, *Result, error) {
	t.Helper()
	r := &run{Options: o, sizes: tiny, notes: notes, result: &Result{Sent: sent}}
	result, err := r.run(ctx)
	return r, result, err
}

// measured are the fields that need not be the same in two runs.
var measured = regexp.MustCompile(`(?m)^\s*"[^"]*(time|cpu|memory)[^"]*": ([-0-9.e+]+|\[[^\]]*\]),?\n`)

// The same seed gives the same result but for what is measured.
func TestSameSeed(t *testing.T) {
	redistest.Path(t)
	var texts []string
	for _, seed := range []uint64{1, 1} {
		_, result, err := runTiny(t, context.Background(), Options{Seed: seed}, new(strings.Builder))
		if err != nil || result.Missing != "" {
			t.Fatal(err, result)
		}
		text, err := json.MarshalIndent(result, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(measured.ReplaceAll(text, nil)))
		looksRight(t, result)
	}
	if texts[0] != texts[1] {
		a, b := strings.Split(texts[0], "\n"), strings.Split(texts[1], "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("line %d: %s, then %s", i, a[i], b[i])
			}
		}
	}
}

// looksRight holds what no machine changes.
func looksRight(t *testing.T, r *Result) {
	t.Helper()
	for _, one := range r.Rows {
		log := strings.HasPrefix(one.Way, "log-lua")
		if log && (one.Over > 0 || one.RefusedFalsely > 0) {
			t.Errorf("the exact log is not exact: %+v", one)
		}
		if one.Way == "log-lua-true" && one.Early+one.Late > 0 {
			t.Errorf("its Retry-After is not true: %+v", one)
		}
		if one.Way == "pushes-block" && one.Over > 0 {
			t.Errorf("more than the limit: %+v", one)
		}
		if perRequest := !strings.HasPrefix(one.Way, wayPushes); perRequest && one.Commands < int64(one.Requests) {
			t.Errorf("fewer commands than requests: %+v", one)
		}
	}
	if c := r.Claims; len(c) != 3 || c[0].Said != 29 || c[0].Is != 59 || c[1].Said != 100 || c[1].Is != 500 || c[2].Said != 100 || c[2].Is != 100 {
		t.Errorf("%+v", c)
	}
	for _, m := range r.Memory {
		// What document 004 computes of a log holds for its own example, a limit of 100.
		if m.Said > 0 && m.Holds() != (m.State == "100 requests: a packed list") || m.Bytes < m.Said && m.State != "one request, not pushed" || !m.Extrapolated {
			t.Errorf("%+v", m)
		}
	}
	var page bytes.Buffer
	r.Print(&page)
	for line := range strings.Lines(page.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Without a Redis one line says so and names the fix, and it is no error: the rest goes
// on. So for a port that is in use.
func TestWithoutRedis(t *testing.T) {
	held, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	t.Run("port", func(t *testing.T) {
		redistest.Path(t)
		missing(t, Options{Port: held.Addr().(*net.TCPAddr).Port}, "is in use: end the program that listens there")
	})
	t.Run("absent", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		t.Setenv("EDGEGUARD_TEST_REDIS", "")
		missing(t, Options{}, "apt-get install redis-server")
	})
}

func missing(t *testing.T, o Options, fix string) {
	t.Helper()
	var notes strings.Builder
	result, err := Run(context.Background(), o, &notes)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	result.Print(&page)
	for _, text := range []string{result.Missing + "\n", notes.String()} {
		if strings.Count(text, "\n") != 1 || !strings.Contains(text, fix) {
			t.Errorf("%q", text)
		}
	}
	if !strings.Contains(page.String(), fix) {
		t.Errorf("%s", page.String())
	}
}

// interrupter ends something when a step is noted.
type interrupter struct {
	at  string
	end func()
}

func (i interrupter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(i.at)) {
		i.end()
	}
	return len(p), nil
}

// A Redis that dies is said in one line; what was measured before is kept.
func TestRedisDies(t *testing.T) {
	redistest.Path(t)
	r := &run{sizes: tiny, result: new(Result)}
	r.notes = interrupter{"weighted by counters", func() { r.server.Stop() }}
	result, err := r.run(context.Background())
	if err != nil || result.Missing == "" || strings.Contains(result.Missing, "\n") || len(result.Rows) < 3 {
		t.Errorf("%v, %d rows, %q", err, len(result.Rows), result.Missing)
	}
}

// Whatever an interrupt ends, no process and no file is left.
func TestInterrupt(t *testing.T) {
	redistest.Path(t)
	for _, at := range []string{"memory of", "weighted by pushes", "costs of log", "documents say"} {
		folder := t.TempDir()
		t.Setenv("TMPDIR", folder)
		ctx, cancel := context.WithCancel(context.Background())
		r := &run{sizes: tiny, notes: interrupter{at, cancel}, result: new(Result)}
		if _, err := r.run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", at, err)
		}
		if conn, err := net.Dial("tcp", r.server.Addr); err == nil {
			_ = conn.Close()
			t.Errorf("%s: Redis runs on", at)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", at, left, err)
		}
	}
}
