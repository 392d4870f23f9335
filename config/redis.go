package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// redisAddress is one address of a Redis, taken apart.
type redisAddress struct {
	at                 node // for what is wrong with it beside others
	text               string
	scheme, user, host string
	database           int
	public             bool // it may lead over a network that others share
}

const redisForms = "use redis://USER@HOST:PORT/DB, rediss:// for TLS, or unix:///PATH"

// redisAddresses reads one address, or a list, which means a Cluster.
func (n node) redisAddresses() (addresses []redisAddress, isList bool) {
	_, isList = n.ast.(*ast.SequenceNode)
	n.list(func(item node) {
		if a, ok := item.redis(); ok {
			addresses = append(addresses, a)
		}
	})
	return addresses, isList
}

// redis reads the address of a Redis server, without its password: a config is
// shown, copied and kept in version control.
func (n node) redis() (redisAddress, bool) {
	text, ok := n.text()
	if !ok {
		return redisAddress{}, false
	}
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"redis", "rediss", "unix"}, u.Scheme) || u.Opaque != "" {
		n.wrong("is not a Redis address", redisForms)
		return redisAddress{}, false
	}
	a := redisAddress{at: n, text: text, scheme: u.Scheme, user: u.User.Username(), host: u.Hostname()}
	if _, has := u.User.Password(); has {
		n.wrong("contains a password", "put it in a file and set fleet.password_file")
		return a, false
	}
	if flaw := a.takeApart(u); flaw.text != "" {
		n.wrong(flaw.text, flaw.fix)
		return a, false
	}
	a.public = a.scheme != "unix" && !isPrivateHost(a.host)
	return a, true
}

// takeApart finds the host and the database, and what is wrong with them.
func (a *redisAddress) takeApart(u *url.URL) flaw {
	database, query := strings.TrimPrefix(u.Path, "/"), u.RawQuery
	if a.scheme == "unix" {
		if u.Host != "" || len(u.Path) < 2 || len(u.Path) > maxSocketPath {
			return flaw{"has no socket path", "use three slashes and an absolute path, such as unix:///run/redis.sock"}
		}
		if db, only := strings.CutPrefix(query, "db="); only {
			database, query = db, ""
		} else {
			database = ""
		}
	} else if a.host == "" || strings.ContainsAny(u.Host, " %") {
		return flaw{"has no host", redisForms}
	}
	if query != "" || u.ForceQuery || u.Fragment != "" {
		return flaw{"has options after its path, which are not supported", "remove them; edgeguard has its own settings for timeouts and TLS"}
	}
	if port := u.Port(); port != "" {
		if p, err := strconv.ParseUint(port, 10, 16); err != nil || p == 0 {
			return flaw{"port " + clip(port) + " is out of range", "use 1 to 65535"}
		}
	}
	if database != "" {
		n, err := strconv.ParseUint(database, 10, 16)
		if err != nil {
			return flaw{"invalid database " + strconv.Quote(clip(database)), "use a number such as /0, or remove it"}
		}
		a.database = int(n)
	}
	return flaw{}
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
