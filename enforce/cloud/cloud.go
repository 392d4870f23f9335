// Package cloud keeps blocks in force in lists behind somebody's API. Its enforcers ([AWSWAF],
// [Cloudflare]) share calls that end and are bounded, secrets in files that are read each
// time, and the choice of the prefixes that a list has room for.
//
// What an API answers is text of another company's program, or of whatever answers in
// its place. It is bounded before it is read, and before it is shown.
package cloud

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"edgeguard/internal/outbound"
	"edgeguard/internal/sleep"
)

const (
	// timeout bounds a call with its answer.
	timeout = 30 * time.Second
	// mostBody bounds an answer: 10,000 addresses are 500 kB.
	mostBody = 8 << 20
	// mostWait is the longest that an API may have us wait.
	mostWait = 15 * time.Minute
	// tries is how often a call is made that is answered with "later".
	tries = 4
)

// Client calls an API. It follows no redirect, which would carry a secret elsewhere, and
// makes no call before the API said that it may. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	until atomic.Pointer[pause]
}

// pause is until when an API wants no call, and with which status it said so.
type pause struct {
	until  time.Time
	status int
}

// newClient returns a client with connections of its own.
func newClient() *Client {
	client := outbound.Client(&http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}, nil)
	client.Timeout = timeout
	return &Client{http: client}
}

// Close ends connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Answer is what an API said.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// SendRequest sends a request and returns the whole answer, whatever its status. Secrets that were
// sent are cut out of it: a refusal may repeat them, and is shown.
func (c *Client) SendRequest(ctx context.Context, method, url string, header http.Header, body []byte, secrets ...string) (*Answer, error) {
	if a := c.until.Load(); a != nil && time.Now().Before(a.until) {
		return nil, fmt.Errorf("it answered with status %d, and wants no call before %s", a.status, a.until.UTC().Format("15:04:05 UTC"))
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := c.http.Do(request)
	if err != nil {
		return nil, outbound.Why(request.URL.Host, err, secrets...)
	}
	defer func() { _ = response.Body.Close() }()
	busy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
	if wait := outbound.RetryAfter(response, time.Now(), mostWait); busy && wait > 0 {
		c.until.Store(&pause{time.Now().Add(wait), response.StatusCode})
	}
	if response.StatusCode/100 == 3 {
		return nil, fmt.Errorf("it redirects%s with status %d, which is not followed: look for a proxy or a login page in between", leadsTo(response), response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, mostBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("half an answer of status %d: %s", response.StatusCode, outbound.Shown(err.Error()))
	case len(text) > mostBody:
		return nil, fmt.Errorf("an answer of over %d bytes, with status %d", mostBody, response.StatusCode)
	}
	return &Answer{Status: response.StatusCode, Header: response.Header, Body: []byte(outbound.Hide(string(text), secrets...))}, nil
}

// leadsTo names the host that a redirect leads to, without what else is in it.
func leadsTo(r *http.Response) string {
	if to, err := r.Location(); err == nil && to.Host != "" {
		return " to " + outbound.Shown(to.Host)
	}
	return ""
}

// NotJSON says that an answer is not of the API, but of what stands before it.
func (a *Answer) NotJSON() error {
	return fmt.Errorf("answered with status %d and what is not JSON: %s: look for a proxy or a login page in between, and at the service's status page", a.Status, outbound.Shown(string(a.Body)))
}

// later reports whether an API says by an error that the same call may work in a moment.
func later(err error) bool {
	var said interface{ later() bool }
	return errors.As(err, &said) && said.later()
}

// repeat makes a call again that was answered with "later": after a step, then twice as long each
// time, and not all at the same moment.
func repeat(ctx context.Context, step time.Duration, call func() error) error {
	for try := 0; ; try++ {
		err, pause := call(), step<<try
		if !later(err) || try == tries-1 || !sleep.For(ctx, pause/2+rand.N(pause/2+1)) {
			return err
		}
	}
}

// Gone says that a list is not there: it was deleted, or never was.
type Gone struct{ Err error }

func (g *Gone) Error() string { return g.Err.Error() }

// IsGone reports whether an error is that a list is not there.
func IsGone(err error) bool {
	var gone *Gone
	return errors.As(err, &gone)
}

// joinErrors returns two errors as one line; either may be nil.
func joinErrors(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// inForce is how long a cloud may take until its edges know a change, beside the pause
// between two updates.
const inForce = 2 * time.Minute

// takes returns how long it takes until a change is in force.
func takes(every time.Duration) time.Duration { return max(2*every, inForce) }
