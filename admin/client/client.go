// Package client talks to the admin API of a running node, over its unix
// socket or over TCP with a token.
//
// What the node refuses is an *[call.Problem]: its text names the field and
// the fix. A node that cannot be reached is an error that names the address
// and what to try.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"edgeguard/admin/call"
	"edgeguard/internal/outbound"
	"edgeguard/internal/unixsocket"
)

// maxAnswer is the largest answer that is read, in bytes: the results of the longest import are
// half of it.
const maxAnswer = 64 << 20

// answerTime is how long one answer may take. Streams have no such bound.
const answerTime = 30 * time.Second

// Config says where the node is.
type Config struct {
	// Address is host:port or unix:PATH, as in the config of the node.
	Address string
	// TokenFile holds the token, if the node requires one. Unix sockets do not.
	TokenFile string
}

// Client talks to one node. It is safe for concurrent use.
type Client struct {
	address string
	base    string
	token   string
	http    *http.Client
}

// New makes a client. It does not connect yet.
func New(c Config) (*Client, error) {
	client := &Client{address: c.Address}
	transport := new(http.Transport)
	if path, ok := strings.CutPrefix(c.Address, "unix:"); ok {
		client.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	} else if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return nil, fmt.Errorf("admin address %q: %w; write host:port or unix:/path", c.Address, err)
	} else {
		client.base = "http://" + c.Address
	}
	if c.TokenFile != "" {
		token, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("admin token: %w", err)
		}
		client.token = strings.TrimSpace(string(token))
	}
	client.http = outbound.Client(transport, nil)
	return client, nil
}

// Address returns where the node is, as in [Config].
func (c *Client) Address() string { return c.address }

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ask sends a request with an optional JSON body and reads the JSON answer.
func ask[Answer any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (answer Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	response, err := c.do(ctx, method, path, query, body)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer); err != nil {
		return answer, fmt.Errorf("%s: %s %s: invalid answer: %w; is it an edgeguard of this version?", c.address, method, path, err)
	}
	return answer, nil
}

// do sends a request; what is not a 2xx becomes an error.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body == nil {
		content = nil
	}
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if method != http.MethodGet {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", c.address, context.Cause(ctx))
		}
		if path, isUnix := strings.CutPrefix(c.address, "unix:"); isUnix && errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%s: permission denied: %s", c.address, unixsocket.WhoMay(path))
		}
		return nil, fmt.Errorf("%s: %s; is edgeguard serving there? See systemctl status edgeguard", c.address, outbound.Shown(outbound.Hide(reason(err).Error(), c.token)))
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	return nil, c.refused(response)
}

// reason returns why a request failed, without the names of the calls that it went
// through.
func reason(err error) error {
	if request := new(url.Error); errors.As(err, &request) {
		err = request.Err
	}
	if call := new(net.OpError); errors.As(err, &call) {
		err = call.Err
	}
	if system := new(os.SyscallError); errors.As(err, &system) {
		err = system.Err
	}
	return err
}

// refused reads the problem of an answer.
func (c *Client) refused(response *http.Response) error {
	var problem call.Problem
	if response.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&problem); err == nil {
			return &problem
		}
	}
	return fmt.Errorf("%s: answered %s; is it an edgeguard admin address?", c.address, outbound.Shown(response.Status))
}
