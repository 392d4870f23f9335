package notify

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// mostText is the longest address, in bytes.
const mostText = 2000

// ParseTarget reads the address of a receiver of notifications. wrong is empty if nothing is, and fix says what to do about it;
// neither repeats the address, since many hold a secret in their path.
func ParseTarget(text string) (u *url.URL, wrong, fix string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > mostText || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return nil, "is not an address", "use https://HOST/PATH"
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "does not begin with https://", "use https://HOST/PATH"
	case u.User != nil:
		return nil, "contains a user or a password", "put them into a file and name it in headers"
	case u.Fragment != "":
		return nil, "has a part behind #, which is not sent", "remove it"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, "is not encrypted: on the way to " + u.Hostname() + " others can read and change it", "use https://, or http:// on this host's loopback addresses only"
	}
	return u, "", ""
}

// isLoopback reports whether a host is this one, by its address or name.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// secretPaths are services whose addresses are their only password.
var secretPaths = []string{"hooks.slack.com", "discord.com", "discordapp.com", "office.com", "logic.azure.com", "api.telegram.org", "chat.googleapis.com"}

// HoldsSecret reports whether an address is known to be a password itself.
func HoldsSecret(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	return slices.ContainsFunc(secretPaths, func(end string) bool { return host == end || strings.HasSuffix(host, "."+end) })
}
