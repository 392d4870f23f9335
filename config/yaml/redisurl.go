package yaml

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// RedisServer is the address of a Redis server, taken apart.
type RedisServer struct {
	Text               string
	Scheme, User, Host string
	Database           int
	Public             bool // it may lead over a network that others share
}

// redisURLForms is the fix for what is no address.
const redisURLForms = "use redis://USER@HOST:PORT/DB, rediss:// for TLS, or unix:///PATH"

// maxPath is the longest path of a unix socket, in bytes.
const maxPath = 107

// ParseRedisURL reads an address without a password: a config is shown, copied and kept in
// version control. wrong is empty if nothing is, and fix says what to do about it.
func ParseRedisURL(text string) (a RedisServer, wrong, fix string) {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"redis", "rediss", "unix"}, u.Scheme) || u.Opaque != "" {
		return a, "is not a Redis address", redisURLForms
	}
	a = RedisServer{Text: text, Scheme: u.Scheme, User: u.User.Username(), Host: u.Hostname()}
	if _, has := u.User.Password(); has {
		return a, "contains a password", "put it in a file and set fleet.password_file"
	}
	if wrong, fix := a.takeApart(u); wrong != "" {
		return a, wrong, fix
	}
	a.Public = a.Scheme != "unix" && !isPrivateHost(a.Host)
	return a, "", ""
}

// takeApart finds the host and the database, and what is wrong with them.
func (a *RedisServer) takeApart(u *url.URL) (wrong, fix string) {
	database, query := strings.TrimPrefix(u.Path, "/"), u.RawQuery
	if a.Scheme == "unix" {
		if u.Host != "" || len(u.Path) < 2 || len(u.Path) > maxPath {
			return "has no socket path", "use three slashes and an absolute path, such as unix:///run/redis.sock"
		}
		if db, only := strings.CutPrefix(query, "db="); only {
			database, query = db, ""
		} else {
			database = ""
		}
	} else if a.Host == "" || strings.ContainsAny(u.Host, " %") {
		return "has no host", redisURLForms
	}
	if query != "" || u.ForceQuery || u.Fragment != "" {
		return "has options after its path, which are not supported", "remove them; edgeguard has its own settings for timeouts and TLS"
	}
	if port := u.Port(); port != "" {
		if p, err := strconv.ParseUint(port, 10, 16); err != nil || p == 0 {
			return fmt.Sprintf("port %.60s is out of range", port), "use 1 to 65535"
		}
	}
	if database != "" {
		n, err := strconv.ParseUint(database, 10, 16)
		if err != nil {
			return fmt.Sprintf("invalid database %.60q", database), "use a number such as /0, or remove it"
		}
		a.Database = int(n)
	}
	return "", ""
}

// shared is the space that providers share out behind their routers (RFC
// 6598), and that overlay networks use.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// privateNames end names that no public server answers to (RFC 6761, 6762,
// 8375, and ICANN's .internal), and those of containers.
var privateNames = []string{".internal", ".local", ".localhost", ".home.arpa", ".lan", ".svc", ".test"}

// isPrivateHost reports whether a host is on this machine or in a network of
// one's own, judged by its address or name: no name is looked up.
func isPrivateHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || shared.Contains(addr)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return !strings.Contains(host, ".") || slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(host, end) })
}
