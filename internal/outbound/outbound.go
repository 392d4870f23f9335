// Package outbound is what edgeguard's HTTP clients have in common: their bounds, which
// certificates they trust, how long a server asks to be left alone, what of its texts is shown,
// and in words why it could not be asked.
package outbound

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/safetext"
	"edgeguard/internal/smallfile"
)

const (
	dialFor  = 10 * time.Second // also for the handshake of TLS
	headFor  = time.Minute      // a server with a slow database thinks before it answers
	mostHead = 64 << 10         // bytes of an answer's head
	mostCA   = 1 << 20          // bytes of a file of certificates: a system's has 220 kB

	// mostShown bounds what is shown of another's text, in bytes.
	mostShown = 200
	// leastSecret is the shortest text that is taken for a secret, in bytes.
	leastSecret = 6
)

// Client returns a client over a transport, which it completes with bounds. The bytes of an
// answer's body and the time of a whole call are the caller's to bound. It follows no redirect:
// the secrets that are sent would go along.
func Client(t *http.Transport, roots *x509.CertPool) *http.Client {
	if t.DialContext == nil {
		t.DialContext = (&net.Dialer{Timeout: dialFor}).DialContext
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout, t.MaxResponseHeaderBytes = dialFor, headFor, mostHead
	t.MaxIdleConns, t.IdleConnTimeout = 1, cmp.Or(t.IdleConnTimeout, dialFor)
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Roots returns the certificates of a file, or nil without one, for those that the system trusts.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := smallfile.Read(file, mostCA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return roots, nil
}

// RetryAfter returns how long a server asks to be left alone, in seconds or until an instant: 0
// if it does not say, and at most so long.
func RetryAfter(r *http.Response, now time.Time, most time.Duration) time.Duration {
	text := r.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}

// Hide returns a text without the secrets that were sent: who refuses them may repeat them.
func Hide(text string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) >= leastSecret {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// Shown returns the beginning of another's text as one line of what a terminal shows.
func Shown(text string) string {
	text = safetext.Strip(safetext.Cut(text, 4*mostShown)) // as much as white space may be
	return safetext.Cut(strings.Join(strings.Fields(text), " "), mostShown)
}
