package feed

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// forms is the fix for what is no URL of a list.
const forms = "use https://HOST/PATH"

// ParseURL reads the URL of a list. wrong is empty if nothing is wrong with it, and fix
// says what to do about it. Neither repeats the URL: it may have a secret.
func ParseURL(text string) (u *url.URL, wrong, fix string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Scheme == "":
		return nil, "is not a URL", forms
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "is not a URL of https", forms
	case u.User != nil:
		return nil, "contains a user or a password", "put what the server asks for in a file and set header_file"
	case u.Hostname() == "" || strings.ContainsAny(u.Host, " %"):
		return nil, "has no host", forms
	case u.Fragment != "":
		return nil, "has a #, which no server is sent", "remove it and what follows"
	case u.Port() != "" && !isPort(u.Port()):
		return nil, "has a port out of range", "use 1 to 65535"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, "is http: whoever is on the way could have any address blocked", "use https; http is for this host's own addresses, such as 127.0.0.1"
	}
	return u, "", ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// loopback reports whether a URL's host is this host.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
