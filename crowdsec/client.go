package crowdsec

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"edgeguard/internal/outbound"
)

// A LAPI is asked for decisions with the key of a bouncer, and is sent alerts with the
// password of a machine. Each answer is bounded in bytes and time, and none is followed
// elsewhere: the key would go with it.

// ClientConfig is where a LAPI is and how it is spoken with.
type ClientConfig struct {
	URL     string // http:// or https://, without a slash at the end
	CAFile  string // who signs its certificate; empty for those the host trusts
	Version string // of edgeguard
}

// Client speaks with one LAPI. Pull, Login and the others may be called one at a time.
type Client struct {
	config ClientConfig
	http   *http.Client
	token  string
	ends   time.Time // of the token
}

const (
	checkFor = 5 * time.Second
	pullFor  = 3 * time.Minute
	sendFor  = 30 * time.Second
	// mostBytes is the largest answer with decisions, decompressed. 100,000 of them are 16 MB; what
	// a LAPI has not forgotten yet of ended ones comes in addition.
	mostBytes = 256 << 20
	mostError = 4 << 10          // bytes of an answer that is an error
	mostLogin = 16 << 10         // bytes of an answer with a token
	mostWait  = 15 * time.Minute // that it may have us wait
)

// RefusedError is what the other side answered instead of what it was asked for.
type RefusedError struct {
	Status int
	Text   string        // what it said, cleaned
	After  time.Duration // how long it asks to be left alone; 0 if it does not say
}

// Error returns the status and what was said.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("it answers %d %s", e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Credentials reports whether the key or the password was refused.
func (e *RefusedError) Credentials() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// NewClient returns a client. It opens nothing but the file of the CA.
func NewClient(c ClientConfig) (*Client, error) {
	one := &Client{config: c}
	if err := one.connect(); err != nil {
		return nil, err
	}
	return one, nil
}

// connect has connections made from now on, by the file of the CA as it is now.
func (c *Client) connect() error {
	roots, err := outbound.Roots(c.config.CAFile)
	if err != nil {
		return fmt.Errorf("ca_file: %w", err)
	}
	c.http = outbound.Client(&http.Transport{IdleConnTimeout: 5 * time.Minute}, roots) // longer than a pause
	return nil
}

// Close ends its idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// PullDecisions reads decisions with a bouncer's key: all of them, or what has changed since the last
// call with this key. After an error, what was passed on must not be used.
func (c *Client) PullDecisions(ctx context.Context, key string, whole bool, added, deleted func(*Decision)) error {
	ctx, cancel := context.WithTimeout(ctx, pullFor)
	defer cancel()
	query := ""
	if whole {
		query = "?startup=true"
	}
	answer, err := c.sendRequest(ctx, http.MethodGet, "/v1/decisions/stream"+query, nil, "X-Api-Key", key, key)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := readDecisions(answer.Body, mostBytes, added, deleted); err != nil {
		return fmt.Errorf("its answer cannot be used: %w", outbound.Why("", err))
	}
	return nil
}

// Check asks whether a LAPI answers and knows a bouncer's key. It changes nothing there: the next
// Pull has the same answer as without it.
func (c *Client) Check(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	answer, err := c.sendRequest(ctx, http.MethodHead, "/v1/decisions?ip=192.0.2.1", nil, "X-Api-Key", key, key)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// sendRequest sends a request and returns the answer, if its status is one of success. No error has the
// secret that the request has.
func (c *Client) sendRequest(ctx context.Context, method, path string, body []byte, name, value, secret string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.config.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if name != "" {
		request.Header.Set(name, value)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", "edgeguard/"+strings.ReplaceAll(c.config.Version, "/", "-"))
	answer, err := c.http.Do(request)
	if err != nil {
		if c.config.CAFile != "" && errors.As(err, new(*tls.CertificateVerificationError)) {
			c.Close()
			_ = c.connect() // who signs may be another since: the next call knows
		}
		return nil, outbound.Why("", err, secret)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 == 3 {
		return nil, fmt.Errorf("it sends this node to another address, where the key must not go: set url to the LAPI itself")
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, mostError)) // half of it says as much
	return nil, &RefusedError{answer.StatusCode, saidIn(text, secret), outbound.RetryAfter(answer, time.Now(), mostWait)}
}

// saidIn returns what the body of an error says: the message of a LAPI, or its beginning.
func saidIn(body []byte, secret string) string {
	var said struct{ Message string }
	text := string(body)
	if json.Unmarshal(body, &said) == nil {
		text = said.Message
	}
	return outbound.Shown(outbound.Hide(text, secret))
}
