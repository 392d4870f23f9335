package config

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"edgeguard"
	"edgeguard/config/address"
)

// Listen is where the node answers.
type Listen struct {
	Auth  []Auth
	Admin []Admin
}

// Preferred returns the admin listener that a command of this host goes to: a
// unix socket first, because it may change things, and never one that only a proxy
// may use. ok is false if there is none.
func (l *Listen) Preferred() (listener Admin, ok bool) {
	for _, a := range l.Admin {
		if a.ProxyAuth.Set && a.TokenFile == "" {
			continue
		}
		if a.Address.Network == "unix" && !a.ProxyAuth.Set {
			return a, true
		}
		if !ok {
			listener, ok = a, true
		}
	}
	return listener, ok
}

// Pages returns the addresses at which a browser finds the console, host:port, first
// those of loopback. An address that means all of the host's is its loopback address.
func (l *Listen) Pages() []string {
	var local, others []string
	for _, a := range l.Admin {
		host, port, err := net.SplitHostPort(a.Address.Address)
		if a.NoConsole || a.Address.Network != "tcp" || err != nil {
			continue
		}
		if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr == netip.IPv4Unspecified() {
			host = "127.0.0.1"
		} else if err == nil && addr == netip.IPv6Unspecified() {
			host = "::1"
		}
		at := address.Address{Network: "tcp", Address: net.JoinHostPort(host, port)}
		if at.Local() {
			local = append(local, at.Address)
		} else {
			others = append(others, at.Address)
		}
	}
	return append(local, others...)
}

// AddSocket adds a unix socket that only the node's own user and root may open, for
// a node without a config.
func (l *Listen) AddSocket(path string) {
	l.Admin = append(l.Admin, Admin{Address: address.Address{Network: "unix", Address: path}, Access: Access{Mode: ownMode}, Connections: adminConnections})
}

// Access is who of this host may connect to a unix socket: any user who may write
// to its file. It is zero for TCP.
type Access struct {
	Mode  fs.FileMode
	Group string // a name or a number; empty for that of the process
}

const (
	// socketMode admits the group, and ownMode only root and the node's own user.
	// An admin socket without a named group has ownMode, since the web server may
	// be in the node's group.
	socketMode fs.FileMode = 0o660
	ownMode    fs.FileMode = 0o600
)

// Bounds and defaults of the open connections of a listener.
const (
	authConnections  = 1024
	adminConnections = 512
	leastConnections = 8
	mostConnections  = 1_000_000
)

// Auth is one listener for forward auth.
type Auth struct {
	Address address.Address // tcp or unix
	Access
	Connections int // open at most
	// Trust are the peers whose headers say who the client is: the trusted
	// proxies unless the file says otherwise. A peer on a unix socket is always
	// one of them.
	Trust []netip.Prefix
	// Header is the one header that names the client; empty for those of the
	// proxy's protocol.
	Header string
	// Emit is KindRequest, or 0 where requests are looked up and not counted,
	// because another source counts them.
	Emit edgeguard.Kind
	// Fronted says that the proxy itself learns its clients from a header.
	Fronted bool
}

// Admin is one listener for the API, the dashboard and the metrics.
type Admin struct {
	Address address.Address // tcp or unix
	Access
	Connections int // open at most
	// TokenFile holds the token of operators and ReaderTokenFile that of readers;
	// empty for none.
	TokenFile, ReaderTokenFile string
	ProxyAuth                  ProxyAuth
	NoConsole                  bool // serves no pages: the API alone
}

func (l *Listen) read(n node) {
	n.mapping(fields{
		"auth": func(n node) {
			l.Auth = []Auth{}
			n.list(func(n node) { l.Auth = append(l.Auth, readAuth(n)) })
		},
		"admin": func(n node) {
			l.Admin = []Admin{}
			n.list(func(n node) { l.Admin = append(l.Admin, readAdmin(n)) })
		},
	})
}

func readAuth(n node) Auth {
	auth := Auth{Emit: edgeguard.KindRequest, Connections: authConnections}
	n.listener(&auth.Address, fields{
		"connections": func(n node) { auth.Connections = n.connections() },
		"mode":        func(n node) { auth.Mode = n.mode() },
		"group":       func(n node) { auth.Group = n.group() },
		"trust":       func(n node) { auth.Trust = append([]netip.Prefix{}, n.prefixes()...) },
		"header":      func(n node) { auth.Header = n.header() },
		"fronted":     func(n node) { auth.Fronted = n.truth() },
		"emit": func(n node) {
			if n.choice("request", "nothing") == "nothing" {
				auth.Emit = 0
			}
		},
	})
	auth.Access = n.access(auth.Address, auth.Access, socketMode, "any user can ask with any client address")
	return auth
}

func readAdmin(n node) Admin {
	admin := Admin{Connections: adminConnections}
	var proxy node
	n.listener(&admin.Address, fields{
		"connections":       func(n node) { admin.Connections = n.connections() },
		"mode":              func(n node) { admin.Mode = n.mode() },
		"group":             func(n node) { admin.Group = n.group() },
		"token_file":        func(n node) { admin.TokenFile = n.folder() },
		"reader_token_file": func(n node) { admin.ReaderTokenFile = n.folder() },
		"console":           func(n node) { admin.NoConsole = !n.truth() },
		"proxy_auth":        func(n node) { proxy, admin.ProxyAuth = n, n.proxyAuth() },
	})
	proxy.checkProxyAuth(&admin)
	if admin.TokenFile != "" && admin.TokenFile == admin.ReaderTokenFile {
		n.wrong("has one file for both tokens, so that readers would be operators", "set reader_token_file to another file")
	}
	usual := ownMode
	if admin.Group != "" {
		usual = socketMode
	}
	admin.Access = n.access(admin.Address, admin.Access, usual, "any user can block and allow any address")
	open := admin.TokenFile == "" && admin.ReaderTokenFile == "" && !admin.ProxyAuth.Set
	if open && !admin.Address.Local() && !n.r.touched(n.path, "token_file", "reader_token_file") {
		n.wrong(fmt.Sprintf("%s is reachable from other hosts and has no token", admin.Address),
			"set token_file, or listen at 127.0.0.1 or on a unix socket")
	}
	return admin
}

// listener reads an address, or a mapping with one and further fields.
func (n node) listener(into *address.Address, known fields) {
	entries, isMapping := n.entries()
	if !isMapping {
		*into = n.address("tcp", "unix")
		n.r.moves(n.path, join(n.path, "address"))
		return
	}
	known["address"] = func(n node) { *into = n.address("tcp", "unix") }
	if len(entries) == 1 && known[entries[0].Key.GetToken().Value] == nil {
		n.wrongType("an address or a mapping with `address`") // 127.0.0.1:9180 without quotes
		return
	}
	n.mapping(known)
	if into.Network == "" && !n.r.touched(n.path, "address") {
		n.wrong("has no address", "set address, such as 127.0.0.1:9180")
	}
}

func (n node) connections() int { return int(n.whole(leastConnections, mostConnections)) }

// access fills in who may connect to a unix socket, and refuses to say it of
// TCP; danger is what any user could do.
func (n node) access(to address.Address, a Access, usual fs.FileMode, danger string) Access {
	if !to.Unix() {
		if to.Network != "" && a != (Access{}) && !n.r.touched(n.path, "mode", "group") {
			n.wrong("has a mode or a group but is not a unix socket", "remove them, or listen at unix:/path")
		}
		return Access{}
	}
	if a.Mode == 0 {
		a.Mode = usual
	}
	if a.Mode&0o002 != 0 {
		n.r.warn(n.at, n.path, fmt.Sprintf("%s is open to every user of this host: %s", to, danger), "use mode 0660 and a group")
	}
	return a
}

// fileMode is how a mode is written: three octal digits, with or without a zero
// before them. The owner, which is the node itself, reads and writes.
var fileMode = regexp.MustCompile(`^0?[67][0-7][0-7]$`)

// mode reads the permission bits of a socket.
func (n node) mode() fs.FileMode {
	text, ok := n.word()
	if !ok {
		return 0
	}
	if !fileMode.MatchString(text) {
		n.wrong("invalid socket mode "+clip(text), "use octal digits such as 0660 (owner and group may connect)")
		return 0
	}
	bits, _ := strconv.ParseUint(text, 8, 16) // three octal digits
	return fs.FileMode(bits)
}

// group reads a group's name or number.
func (n node) group() string {
	text, ok := n.word()
	if ok && !groupName.MatchString(text) {
		n.wrong(fmt.Sprintf("invalid group %q", clip(text)), "use a name such as edgeguard-admin")
	}
	return text
}

var groupName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// header reads a header's name.
func (n node) header() string {
	text, ok := n.text()
	if ok && strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }) {
		n.wrong(fmt.Sprintf("invalid header %q", clip(text)), "use a name such as X-Real-IP")
	}
	return text
}
