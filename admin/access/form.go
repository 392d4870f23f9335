package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"strings"
)

// FormField is the hidden field of a form in which its token comes back.
const FormField = "csrf"

// mostForm is the longest form, in bytes.
const mostForm = 64 << 10

// FormToken returns what a form of a page carries in [FormField]. It is valid for
// this caller, until the node ends: another page cannot make the caller's browser
// send a form, because it cannot read the token.
func FormToken(r *http.Request) string {
	c := CallerOf(r)
	if c.policy == nil {
		return ""
	}
	return hex.EncodeToString(c.policy.formMAC(c.holds))
}

// formMAC returns the token of who holds a credential.
func (p *Policy) formMAC(holds string) []byte {
	mac := hmac.New(sha256.New, p.formKey[:])
	mac.Write([]byte(holds))
	return mac.Sum(nil)
}

// newFormKey returns a key that no other run of a node has.
func newFormKey() (key [32]byte) {
	_, _ = rand.Read(key[:]) // never fails: see crypto/rand
	return key
}

// content returns the refusal of a change whose body is of a wrong kind: the API
// takes JSON, which a browser never sends for another page, and pages take forms
// that carry the caller's token. It reads a form, so that handlers find it in
// PostForm.
func (p *Policy) content(r *http.Request, pattern string, c *Caller) *Refusal {
	if !isPage(r, pattern) {
		if !isMedia(r, "application/json") {
			return &Refusal{"content", http.StatusUnsupportedMediaType, "Content-Type", "changes must be JSON", "send `Content-Type: application/json`"}
		}
		return nil
	}
	if !isMedia(r, "application/x-www-form-urlencoded") {
		return &Refusal{"content", http.StatusUnsupportedMediaType, "Content-Type", "pages take forms", "send `Content-Type: application/x-www-form-urlencoded`, or use the API under /api/v1"}
	}
	r.Body = http.MaxBytesReader(nil, r.Body, mostForm)
	var tooLong *http.MaxBytesError
	switch err := r.ParseForm(); {
	case errors.As(err, &tooLong):
		return &Refusal{"content", http.StatusRequestEntityTooLarge, "", "the form is larger than 64 KiB", "shorten it"}
	case err != nil:
		return &Refusal{"content", http.StatusBadRequest, "", "the form cannot be read", "send it again"}
	}
	shown := r.PostForm[FormField]
	if len(shown) == 1 {
		if mac, err := hex.DecodeString(shown[0]); err == nil && hmac.Equal(mac, p.formMAC(c.holds)) {
			return nil
		}
	}
	return &Refusal{"form", http.StatusForbidden, FormField, "the form is out of date, or is not one of this node for this login", "reload the page, and send the form again"}
}

// isPage reports whether a route is a page's: patterns of the API have no method,
// and "/" is what does not exist.
func isPage(r *http.Request, pattern string) bool {
	return strings.Contains(pattern, " ") && !strings.HasPrefix(r.URL.Path, "/api/")
}

func isMedia(r *http.Request, want string) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == want
}
