package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"edgeguard/internal/smallfile"
)

const (
	leastToken = 16      // bytes; `openssl rand -hex 32` gives 64
	mostToken  = 4 << 10 // bytes of the file
)

// token is the secret that TCP clients show. Its hash is kept, so that what is
// compared has one length whatever was sent. Safe for concurrent use.
type token struct {
	what string // for errors
	file string
	role Role // of who shows it
	hash atomic.Pointer[[sha256.Size]byte]
}

// read takes the token from its file, without the white space around it.
func (t *token) read() error {
	content, err := smallfile.Read(t.file, mostToken)
	if err != nil {
		return fmt.Errorf("%s: %w", t.what, err)
	}
	text := strings.TrimSpace(string(content))
	if len(text) < leastToken || strings.ContainsFunc(text, notVisible) {
		return fmt.Errorf("%s: %s: expected one word of %d to %d visible ASCII characters; create one with `openssl rand -hex 32`", t.what, t.file, leastToken, mostToken)
	}
	hash := hashOf(text)
	t.hash.Store(&hash)
	return nil
}

func notVisible(r rune) bool { return r <= ' ' || r > '~' }

// equals reports whether shown is the token, in a time that does not depend on how
// much of it is right.
func (t *token) equals(shown string) bool {
	hash := hashOf(shown)
	return subtle.ConstantTimeCompare(hash[:], t.hash.Load()[:]) == 1
}

func hashOf(shown string) [sha256.Size]byte { return sha256.Sum256([]byte(shown)) }

// bearer returns the token that a request shows. Authorization of another scheme is
// that of a proxy in front.
func bearer(r *http.Request) (shown string, ok bool) {
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(shown), strings.EqualFold(scheme, "Bearer")
}
