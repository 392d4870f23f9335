package scale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// turn is what the node did under load in one turn.
type turn struct {
	requests float64 // a second
	decision float64 // the 99th percentile of the node's own figure, in seconds
	cpu      float64 // seconds of the node's processor time a request
	memory   int64
}

// load asks the node's forward auth about its keys for a while, over so many
// connections that each wait for their answers.
func (n *node) load(ctx context.Context, o *Options) (t turn, err error) {
	before, err := n.decisions(ctx)
	if err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Turn)
	defer cancel()
	spent, err := n.processor()
	if err != nil {
		return t, err
	}
	counts, errs := make([]int, o.Connections), make([]error, o.Connections)
	var all sync.WaitGroup
	began := time.Now()
	for i := range o.Connections {
		all.Go(func() { counts[i], errs[i] = n.ask(ctx, o.Keys) })
	}
	all.Wait()
	seconds, total := time.Since(began).Seconds(), 0
	for i, err := range errs {
		if err != nil {
			return t, err
		}
		total += counts[i]
	}
	now, err := n.processor()
	if err != nil {
		return t, err
	}
	t.requests, t.cpu = float64(total)/seconds, (now-spent).Seconds()/float64(max(1, total))
	after, err := n.decisions(context.WithoutCancel(ctx))
	if err != nil {
		return t, err
	}
	t.decision = after.since(before).quantile(0.99)
	t.memory, err = n.memory()
	return t, err
}

// least is how often a connection asks, however short the turn is.
const least = 1000

// ask asks over one connection until ctx ends, and returns how often.
func (n *node) ask(ctx context.Context, keys int) (times int, err error) {
	conn, err := net.Dial("unix", filepath.Join(n.dir, "auth.sock"))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	var question []byte
	for ; ctx.Err() == nil || times < least; times++ {
		question = append(question[:0], "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Original-URI: /\r\nX-Original-Method: GET\r\nX-Real-IP: "...)
		question = append(address(rand.IntN(keys)).AppendTo(question), "\r\n\r\n"...)
		if _, err := conn.Write(question); err != nil {
			return times, err
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return times, err
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return times, err
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusForbidden {
			return times, fmt.Errorf("forward auth answered %d", answer.StatusCode)
		}
	}
	return times, nil
}

// histogram is the node's figure of how long decisions take: how many took so many
// seconds at most.
type histogram struct {
	bounds []float64
	counts []float64
}

const durations = "edgeguard_decision_duration_seconds_bucket{"

func (n *node) decisions(ctx context.Context) (h histogram, err error) {
	text, err := n.get(ctx, "/metrics")
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(text)) {
		labels, count, ok := strings.Cut(strings.TrimSpace(line), "} ")
		_, bound, found := strings.Cut(labels, `le="`)
		if !ok || !found || !strings.HasPrefix(line, durations) {
			continue
		}
		at, err := strconv.ParseFloat(strings.TrimSuffix(bound, `"`), 64)
		if err != nil {
			return h, err
		}
		n, err := strconv.ParseFloat(count, 64)
		if err != nil {
			return h, err
		}
		h.bounds, h.counts = append(h.bounds, at), append(h.counts, n)
	}
	return h, nil
}

// since returns what came after an earlier one.
func (h histogram) since(before histogram) histogram {
	for i := range min(len(h.counts), len(before.counts)) {
		h.counts[i] -= before.counts[i]
	}
	return h
}

// quantile returns a quantile as Prometheus does: by a straight line in its bucket.
func (h histogram) quantile(q float64) float64 {
	if len(h.counts) == 0 {
		return 0
	}
	rank, low, below := q*h.counts[len(h.counts)-1], 0.0, 0.0
	for i, count := range h.counts {
		if count >= rank && count > below {
			if i == len(h.counts)-1 {
				return low // beyond the last bound
			}
			return low + (h.bounds[i]-low)*(rank-below)/(count-below)
		}
		low, below = h.bounds[i], count
	}
	return low
}
