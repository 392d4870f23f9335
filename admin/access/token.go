package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
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
	f, err := os.Open(t.file)
	if err != nil {
		return fmt.Errorf("%s: %w", t.what, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, mostToken+1))
	if err != nil {
		return fmt.Errorf("%s: %w", t.what, err)
	}
	text := strings.TrimSpace(string(content))
	if len(text) < leastToken || len(content) > mostToken || strings.ContainsFunc(text, notVisible) {
		return fmt.Errorf("%s: %s: expected one word of %d to %d visible ASCII characters; create one with `openssl rand -hex 32`", t.what, t.file, leastToken, mostToken)
	}
	hash := sha256.Sum256([]byte(text))
	t.hash.Store(&hash)
	return nil
}

func notVisible(r rune) bool { return r <= ' ' || r > '~' }

// is reports whether an Authorization header shows the token, in a time that
// does not depend on how much of it is right.
func (t *token) is(authorization string) bool {
	scheme, shown, _ := strings.Cut(authorization, " ")
	return t.equals(strings.TrimSpace(shown)) && strings.EqualFold(scheme, "Bearer")
}

// equals compares in the same way.
func (t *token) equals(shown string) bool {
	hash := sha256.Sum256([]byte(shown))
	return subtle.ConstantTimeCompare(hash[:], t.hash.Load()[:]) == 1
}
