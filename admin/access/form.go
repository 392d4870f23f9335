package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
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
// send a form, because it cannot read the token. It is another each time, so that
// the length of a compressed page says nothing of it.
func FormToken(r *http.Request) string {
	c := CallerOf(r)
	if c.policy == nil {
		return ""
	}
	mac, pad := c.policy.formMAC(c.holds), newSecret()
	masked := make([]byte, len(mac))
	subtle.XORBytes(masked, mac, pad[:])
	return hex.EncodeToString(pad[:]) + hex.EncodeToString(masked)
}

// isForm reports whether shown is a token of who holds a credential.
func (p *Policy) isForm(shown, holds string) bool {
	raw, err := hex.DecodeString(shown)
	if err != nil || len(raw) != 2*sha256.Size {
		return false
	}
	mac := make([]byte, sha256.Size)
	subtle.XORBytes(mac, raw[:sha256.Size], raw[sha256.Size:])
	return hmac.Equal(mac, p.formMAC(holds))
}

// formMAC returns what the tokens of who holds a credential hide.
func (p *Policy) formMAC(holds string) []byte {
	mac := hmac.New(sha256.New, p.formKey[:])
	mac.Write([]byte(holds))
	return mac.Sum(nil)
}

// content returns the refusal of a change whose body is of a wrong kind: the API
// takes JSON, which a browser never sends for another page, and pages take forms
// that carry the caller's token. It reads a form, so that handlers find it in
// PostForm.
func (p *Policy) content(r *http.Request, pattern string, c *Caller) *Refusal {
	if !isPage(r, pattern) {
		// A browser asks before it sends DELETE for another page, so that without a body
		// nothing has to show that this is no form.
		bare := r.Method == http.MethodDelete && r.ContentLength == 0 && r.Header.Get("Content-Type") == ""
		if !bare && !isMedia(r, "application/json") {
			return &Refusal{Reason: "content", Status: http.StatusUnsupportedMediaType, Field: "Content-Type", Detail: "changes must be JSON", Fix: "send `Content-Type: application/json`"}
		}
		return nil
	}
	if !isMedia(r, "application/x-www-form-urlencoded") {
		return &Refusal{Reason: "content", Status: http.StatusUnsupportedMediaType, Field: "Content-Type", Detail: "pages take forms", Fix: "send `Content-Type: application/x-www-form-urlencoded`, or use the API under /api/v1"}
	}
	r.Body = http.MaxBytesReader(nil, r.Body, mostForm)
	var tooLong *http.MaxBytesError
	switch err := r.ParseForm(); {
	case errors.As(err, &tooLong):
		return &Refusal{Reason: "content", Status: http.StatusRequestEntityTooLarge, Detail: "the form is larger than 64 KiB", Fix: "shorten it"}
	case err != nil:
		return &Refusal{Reason: "content", Status: http.StatusBadRequest, Detail: "the form cannot be read", Fix: "send it again"}
	}
	shown := r.PostForm[FormField]
	if len(shown) == 1 && p.isForm(shown[0], c.holds) {
		return nil
	}
	return &Refusal{Reason: "form", Status: http.StatusForbidden, Field: FormField, Detail: "the form is out of date, or is not one of this node for this login", Fix: "reload the page, and send the form again"}
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
