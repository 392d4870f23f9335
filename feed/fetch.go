package feed

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"edgeguard/internal/outbound"
	"edgeguard/internal/smallfile"
)

// Lists are brought from servers, by HTTPS, and from files.
//
// A server may be anybody's by now, and so may every answer in its name that is not
// proved. So an answer is bounded in bytes and in time and is taken whole or not at all;
// a redirect leads to the same host or nowhere; and no name leads into the host's own
// network, whatever it resolves to at the moment of the connection.

const (
	// longest bounds a whole fetch.
	longest      = 2 * time.Minute
	dialTimeout  = 10 * time.Second
	maxRedirects = 5
	// maxMark is the longest ETag or date that is sent back to the server.
	maxMark = 256
	// A body must go on: at least progress bytes in each stall.
	progress = 1 << 10
	stall    = 20 * time.Second
	// maxHeader bounds the file of a header.
	maxHeader = 8 << 10
)

// FetchSettings say where a list is, and how it is asked for.
type FetchSettings struct {
	URL string // https, or http to loopback
	// CAFile has the certificates that are trusted instead of the system's, and
	// HeaderFile one line, "Name: value", that is sent along; empty for none. They are
	// read at each fetch.
	CAFile, HeaderFile string
	Private            bool // the host may have an address that is not of the internet
	Version            string
}

// Marks are what a server calls a version of a list, so that it need not send it again.
type Marks struct{ ETag, Modified string }

// Answer is what a server answered.
type Answer struct {
	Data []byte
	// Same says that the list is the one of the marks that were sent. Then there is no
	// data.
	Same bool
	Marks
}

// Busy is the error of a server that asks to be left alone for a time, 0 if it does not
// say how long.
type Busy struct {
	Status int
	For    time.Duration
}

func (b *Busy) Error() string {
	text := fmt.Sprintf("the server answered %d %s", b.Status, http.StatusText(b.Status))
	if b.For > 0 {
		text += ", and wants to be asked again in " + b.For.Round(time.Second).String()
	}
	return text
}

// Fetcher fetches one list.
type Fetcher struct {
	settings FetchSettings
	url      *url.URL
	longest  time.Duration
	stall    time.Duration
}

// NewFetcher returns a fetcher. The error says what is wrong with the URL, without repeating it.
func NewFetcher(s FetchSettings) (*Fetcher, error) {
	u, wrong, _ := ParseURL(s.URL)
	if wrong != "" {
		return nil, errors.New("the URL " + wrong)
	}
	return &Fetcher{settings: s, url: u, longest: longest, stall: stall}, nil
}

// FetchList asks for the list. had is what it was called when it was last taken in.
func (f *Fetcher) FetchList(ctx context.Context, had Marks) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.longest, errors.New("the fetch took longer than "+f.longest.String()))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	client, err := f.client()
	if err != nil {
		return Answer{}, err
	}
	defer client.CloseIdleConnections()
	request, err := f.request(ctx, had)
	if err != nil {
		return Answer{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, f.cleaned(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // what matters was read, or there is an error already
	switch {
	case response.StatusCode == http.StatusNotModified && had != Marks{}:
		return Answer{Same: true, Marks: had}, nil
	case response.StatusCode != http.StatusOK:
		return Answer{}, &Busy{Status: response.StatusCode, For: outbound.RetryAfter(response, time.Now(), longestPause)}
	}
	data, err := f.body(response, stop)
	if err != nil || ctx.Err() != nil { // a server that sees the connection end may yet end its answer, as if that were all
		return Answer{}, f.cleaned(ctx, err)
	}
	return Answer{Data: data, Marks: Marks{mark(response.Header.Get("ETag")), mark(response.Header.Get("Last-Modified"))}}, nil
}

// cleaned returns an error without the URL, which may have a secret, and without what a
// terminal acts on. A server that does not speak HTTP is quoted, and may repeat a secret.
func (f *Fetcher) cleaned(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return outbound.Why("", err, f.settings.secrets()...)
}

func (f *Fetcher) client() (*http.Client, error) {
	roots, err := outbound.Roots(f.settings.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	dialer := &net.Dialer{Timeout: dialTimeout, ControlContext: f.control}
	client := outbound.Client(&http.Transport{ // without a proxy: through one, the address that is connected to cannot be seen
		DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, // it is undone here, where it is bounded
	}, roots)
	client.CheckRedirect = f.redirect
	return client, nil
}

func (f *Fetcher) request(ctx context.Context, had Marks) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url.String(), nil)
	if err != nil {
		return nil, errors.New("the URL cannot be asked for")
	}
	request.Header.Set("User-Agent", "edgeguard/"+cmp.Or(f.settings.Version, "dev"))
	request.Header.Set("Accept-Encoding", "gzip")
	if had.ETag != "" {
		request.Header.Set("If-None-Match", had.ETag)
	}
	if had.Modified != "" {
		request.Header.Set("If-Modified-Since", had.Modified)
	}
	if file := f.settings.HeaderFile; file != "" {
		name, value, err := readHeader(file)
		if err != nil {
			return nil, err
		}
		request.Header.Set(name, value)
	}
	return request, nil
}

// readHeader reads a header from a file. No error has any of it.
func readHeader(file string) (name, value string, err error) {
	b, err := smallfile.Read(file, maxHeader)
	if err != nil {
		return "", "", fmt.Errorf("header_file: %w", err)
	}
	name, value, found := strings.Cut(strings.TrimSpace(string(b)), ":")
	value = strings.TrimSpace(value)
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	token := func(r rune) bool {
		return r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if !found || name == "" || value == "" || strings.ContainsFunc(value, odd) || strings.TrimFunc(name, token) != "" {
		return "", "", fmt.Errorf("header_file: %s is not one line of the form Name: value", file)
	}
	return name, value, nil
}

// redirect follows a server to another place of its own, and nowhere else.
func (f *Fetcher) redirect(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	case to.URL.Scheme != f.url.Scheme:
		return fmt.Errorf("the server redirects from %s to %.10q, which is not followed", f.url.Scheme, to.URL.Scheme)
	case !strings.EqualFold(to.URL.Hostname(), f.url.Hostname()) || port(to.URL) != port(f.url):
		return fmt.Errorf("the server redirects to another host, %.80q, which is not followed: set url to where it leads if you trust it", to.URL.Host)
	case to.URL.User != nil:
		return errors.New("the server redirects to a URL with a password, which is not followed")
	}
	return nil
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}

// body reads the answer, whole or not at all. stop ends the request.
func (f *Fetcher) body(response *http.Response, stop context.CancelCauseFunc) ([]byte, error) {
	chunked := len(response.TransferEncoding) > 0 && response.TransferEncoding[0] == "chunked"
	switch {
	case response.ContentLength < 0 && !chunked:
		return nil, errors.New("the server does not say how long the list is, so that half of it could not be told from all of it")
	case response.ContentLength > MaxBytes:
		return nil, errTooLong
	}
	going := newGoing(response.Body, f.stall, stop)
	defer going.end()
	data, err := decoded(response.Header.Get("Content-Encoding"), io.LimitReader(going, MaxBytes+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the answer was cut off, and none of it is used")
	}
	return data, err
}

var errTooLong = fmt.Errorf("the list is larger than %d MiB", MaxBytes>>20)

// decoded reads a body and undoes its compression. What is left is bounded, too.
func decoded(encoding string, body io.Reader) ([]byte, error) {
	in := body
	switch strings.ToLower(encoding) {
	case "", "identity":
	case "gzip", "x-gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("the answer cannot be uncompressed: %w", err)
		}
		in = io.LimitReader(unzipped, MaxBytes+1)
	default:
		return nil, fmt.Errorf("the answer has the encoding %.40q, which was not asked for", encoding)
	}
	var b bytes.Buffer
	_, err := b.ReadFrom(in)
	if b.Len() > MaxBytes {
		return nil, errTooLong
	}
	return b.Bytes(), err
}

// going is a body that must go on.
type going struct {
	from  io.Reader
	every time.Duration
	timer *time.Timer
	read  int // since the timer began again
}

func newGoing(from io.Reader, every time.Duration, cancel context.CancelCauseFunc) *going {
	return &going{from: from, every: every, timer: time.AfterFunc(every, func() {
		cancel(fmt.Errorf("the server sends less than %d bytes in %v", progress, every))
	})}
}

func (g *going) Read(b []byte) (int, error) {
	n, err := g.from.Read(b)
	if g.read += n; g.read >= progress {
		g.read = 0
		g.timer.Reset(g.every)
	}
	return n, err
}

func (g *going) end() { g.timer.Stop() }

// mark returns what a server called its list, empty if that may not be sent back.
func mark(text string) string {
	if len(text) > maxMark || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return text
}

// control refuses a connection to an address that the URL may not lead to. It is asked
// about the address that was found for the name, right before the connection.
func (f *Fetcher) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%.60q is not an address", address)
	}
	return f.admits(at.Addr().Unmap().WithZone(""))
}

// metadata are addresses in private space at which clouds tell their machines secrets: of
// AWS, Google, Alibaba and Scaleway. That of IPv4 is link-local with the others.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"), netip.MustParsePrefix("fd20:ce::254/128"),
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("fd00:42::42/128"),
}

func isMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// admits reports why a connection to an address is not made, nil if it is.
func (f *Fetcher) admits(addr netip.Addr) error {
	host := f.url.Hostname()
	literal, err := netip.ParseAddr(host)
	switch {
	case err == nil && literal.Unmap() == addr: // the operator wrote it
		return nil
	case f.url.Scheme == "http":
		if addr.IsLoopback() {
			return nil
		}
	case !Special(addr):
		return nil
	case f.settings.Private && !isMetadata(addr) && (addr.IsPrivate() || addr.IsLoopback() || shared.Contains(addr)):
		return nil
	}
	if f.settings.Private {
		return fmt.Errorf("%.80s leads to %s, which no list in your own network has", host, addr)
	}
	return fmt.Errorf("%.80s leads to %s, which is not an address on the internet: set private: true if this list is in your own network", host, addr)
}

// shared is the space that providers share out behind their routers (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")
