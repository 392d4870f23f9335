package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/outbound"
	"edgeguard/internal/safetext"
	"edgeguard/internal/smallfile"
)

// Posts to one receiver of notifications are signed, with its secrets from files, and all of
// the receiver's answer is bounded.

const (
	// mostFile bounds a file of secrets.
	mostFile = 64 << 10
	// mostAnswer is how much of an answer is read.
	mostAnswer = 4 << 10
	// leastSecret is the shortest secret that signs, in bytes, as Standard Webhooks has it.
	leastSecret = 24
	// leastPart is the shortest part of a path that is taken for a secret in an answer.
	leastPart = 10
	// mostWait is the longest that a receiver may have us wait.
	mostWait = 5 * time.Minute
)

// SenderSettings say where a receiver is and how it knows us.
type SenderSettings struct {
	URL, URLFile string // one of them
	SecretFile   string // a secret in each line; all of them sign
	Path         string // below the address; empty for none
	Headers      []Header
	CAFile       string // certificates that are trusted instead of the system's
	ContentType  string
	Agent        string // User-Agent
	Timeout      time.Duration
}

// Header is one header of a request: its value, or the file that has it.
type Header struct{ Name, Value, File string }

// Sender posts to one receiver. It does not change: what its files say later needs
// another one.
type Sender struct {
	settings SenderSettings
	url      *url.URL
	headers  http.Header
	secrets  [][]byte
	hidden   []string // what no error may show
	client   *http.Client
}

// OpenSender reads the files of a receiver. It connects to nothing.
func OpenSender(s SenderSettings) (*Sender, error) {
	r := &Sender{settings: s, headers: http.Header{"Content-Type": {s.ContentType}, "User-Agent": {s.Agent}}}
	if err := r.readURL(); err != nil {
		return nil, err
	}
	for _, h := range s.Headers {
		value := h.Value
		if h.File != "" {
			var err error
			if value, err = readLine(h.File); err != nil {
				return nil, err
			}
		}
		// A variable may have put the secret into the config; and receivers name the token
		// alone, without the word before it.
		r.hidden = append(append(r.hidden, value), strings.Fields(value)...)
		r.headers.Set(h.Name, value)
	}
	if s.SecretFile != "" {
		if err := r.readSecrets(); err != nil {
			return nil, err
		}
	}
	roots, err := outbound.Roots(s.CAFile)
	if err != nil {
		return nil, err
	}
	r.client = outbound.Client(&http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true, DisableCompression: true}, roots)
	return r, nil
}

func (r *Sender) readURL() error {
	text := r.settings.URL
	if r.settings.URLFile != "" {
		var err error
		if text, err = readLine(r.settings.URLFile); err != nil {
			return err
		}
	}
	u, wrong, fix := ParseTarget(text)
	if wrong != "" {
		return fmt.Errorf("the receiver's address %s; %s", wrong, fix)
	}
	r.hidden = append(r.hidden, strings.Trim(u.RequestURI(), "/"))
	for _, values := range u.Query() {
		r.hidden = append(r.hidden, values...)
	}
	for part := range strings.SplitSeq(u.Path, "/") { // a receiver may name the last alone
		if len(part) >= leastPart {
			r.hidden = append(r.hidden, part)
		}
	}
	if r.settings.Path != "" {
		u = u.JoinPath(r.settings.Path)
	}
	r.url = u
	return nil
}

// readSecrets reads the secrets that sign, one a line: with the new one above the old one
// a receiver can change to the other at any time.
func (r *Sender) readSecrets() error {
	text, err := smallfile.Read(r.settings.SecretFile, mostFile)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		secret := []byte(line)
		if encoded, is := strings.CutPrefix(line, "whsec_"); is {
			if secret, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return fmt.Errorf("%s: what follows whsec_ is not base64", r.settings.SecretFile)
			}
		}
		if len(secret) < leastSecret {
			return fmt.Errorf("%s: a secret has fewer than %d bytes; make one by: echo whsec_$(openssl rand -base64 32)", r.settings.SecretFile, leastSecret)
		}
		r.secrets, r.hidden = append(r.secrets, secret), append(r.hidden, line)
	}
	if len(r.secrets) == 0 || len(r.secrets) > 2 {
		return fmt.Errorf("%s has %d secrets; write one a line, and two at most", r.settings.SecretFile, len(r.secrets))
	}
	return nil
}

// readLine reads a file of one line.
func readLine(path string) (string, error) {
	data, err := smallfile.Read(path, mostFile)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if text == "" || !safetext.Clean(text) {
		return "", fmt.Errorf("%s does not have exactly one line of text", path)
	}
	return text, nil
}

// Answer is what came of a post. Error is nil where the receiver accepted it.
type Answer struct {
	Status int    // of HTTP, 0 without one
	Text   string // the beginning of the answer's body, in one line
	Error  error  // one clear line, without a secret
	// Refused says that the same post would be refused again. After is how long the
	// receiver asks to wait, 0 where it does not say.
	Refused bool
	After   time.Duration
}

// PostBody sends a body. The id is the same in every retry; now is the instant of this try,
// by the wall clock.
func (r *Sender) PostBody(ctx context.Context, now time.Time, id string, body []byte) Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, r.settings.Timeout, errLate)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{Error: r.clear(ctx, err), Refused: true}
	}
	request.Header = r.headers.Clone()
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	r.sign(request.Header, now, id, body)
	defer r.client.CloseIdleConnections() // and one whose handshake hangs: else it outlives the post
	response, err := r.client.Do(request)
	if err != nil {
		return Answer{Error: r.clear(ctx, err)}
	}
	defer func() { _ = response.Body.Close() }() // its end is not awaited
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	return r.judge(now, response, r.show(string(text)))
}

// errLate is the cause of a post that took too long.
var errLate = errors.New("late")

// sign adds the headers of Standard Webhooks 1.0.0. The time is that of the try, so that
// a receiver refuses what was recorded and is sent again.
func (r *Sender) sign(to http.Header, now time.Time, id string, body []byte) {
	if len(r.secrets) == 0 {
		return
	}
	stamp := strconv.FormatInt(now.Unix(), 10)
	var all []string
	for _, secret := range r.secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + stamp + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	to.Set("Webhook-Id", id)
	to.Set("Webhook-Timestamp", stamp)
	to.Set("Webhook-Signature", strings.Join(all, " "))
}

// judge says what an answer means.
func (r *Sender) judge(now time.Time, response *http.Response, text string) Answer {
	a := Answer{Status: response.StatusCode, Text: text}
	said := strconv.Itoa(a.Status)
	if name := http.StatusText(a.Status); name != "" {
		said += " " + name
	}
	if text != "" {
		said += ": " + text
	}
	switch {
	case a.Status >= 200 && a.Status < 300:
		return a
	case a.Status >= 300 && a.Status < 400:
		a.Refused = true
		a.Error = fmt.Errorf("it redirects%s, which is not followed; set url to where it leads (%d)", leadsTo(response), a.Status)
	case a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable:
		a.After = outbound.RetryAfter(response, now, mostWait)
		a.Error = fmt.Errorf("it asks to wait: %s", said)
	case a.Status >= 500 || a.Status == http.StatusRequestTimeout || a.Status == http.StatusTooEarly:
		a.Error = fmt.Errorf("it failed: %s", said)
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden || a.Status == http.StatusNotFound:
		a.Refused = true
		a.Error = fmt.Errorf("it refuses us: %s; check its address, and the files of its secrets", said)
	default:
		a.Refused = true
		a.Error = fmt.Errorf("it refuses the message: %s; check the template", said)
	}
	return a
}

// leadsTo names the host that a redirect leads to, without a path.
func leadsTo(response *http.Response) string {
	if to, err := response.Location(); err == nil && to.Host != "" {
		return " to " + outbound.Shown(to.Scheme+"://"+to.Host)
	}
	return ""
}

// clear returns an error of a post in one line, without the address.
func (r *Sender) clear(ctx context.Context, err error) error {
	host := r.url.Host
	switch {
	case errors.Is(context.Cause(ctx), errLate):
		return fmt.Errorf("%s did not answer within %v", host, r.settings.Timeout)
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not answer before the node ended", host)
	}
	if text := err.Error(); strings.Contains(text, "malformed") {
		return fmt.Errorf("%s does not answer in HTTP, or closed the connection in the middle", host)
	}
	return outbound.Why(host, err, r.hidden...)
}

// show returns the beginning of what a receiver wrote, without what no error may show.
func (r *Sender) show(text string) string { return outbound.Shown(outbound.Hide(text, r.hidden...)) }

// Host returns where the receiver is, without the path, which may be a secret.
func (r *Sender) Host() string { return r.url.Host }
