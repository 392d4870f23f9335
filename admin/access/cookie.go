package access

import (
	"encoding/base64"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// mostCookies bounds the cookies of one name that are looked up: another program of
// this host can set some, because cookies do not know ports.
const mostCookies = 8

// cookieName returns the name of a session's cookie. The port is a part of it, so
// that nodes on several ports of one host, or forwarded ones, do not replace each
// other's. A browser accepts a name with __Host- over TLS only, and from no other
// host.
func cookieName(r *http.Request) string {
	name := "edgeguard"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err == nil {
			name += "-" + port
		}
	}
	if encrypted(r) {
		name = "__Host-" + name
	}
	return name
}

// encrypted reports whether a proxy says that the client came to it over TLS. Any
// client may say so: it gets a cookie that its browser keeps over TLS only.
func encrypted(r *http.Request) bool {
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return strings.EqualFold(strings.TrimSpace(first), "https")
}

// exposed reports whether what a browser sends, such as a token, crosses a network
// unencrypted, as far as the node can see.
func exposed(r *http.Request) bool {
	return !encrypted(r) && (r.Header.Get("X-Forwarded-Proto") != "" || !PeerOf(r).local())
}

// setCookie has the browser keep a session until it ends, or remove it if value is
// empty.
func setCookie(w http.ResponseWriter, r *http.Request, value string) {
	c := http.Cookie{Name: cookieName(r), Value: value, Path: "/", HttpOnly: true, Secure: encrypted(r), SameSite: http.SameSiteStrictMode}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, &c)
}

// shownSecrets returns the sessions that a browser shows.
func shownSecrets(r *http.Request) (all []Secret) {
	cookies := r.CookiesNamed(cookieName(r))
	for _, c := range cookies[:min(len(cookies), mostCookies)] {
		if secret, ok := parseSecret(c.Value); ok {
			all = append(all, secret)
		}
	}
	return all
}

// parseSecret reads what writeSecret wrote.
func parseSecret(text string) (secret Secret, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(secret) {
		return secret, false
	}
	return Secret(raw), true
}

func writeSecret(s Secret) string { return base64.RawURLEncoding.EncodeToString(s[:]) }
