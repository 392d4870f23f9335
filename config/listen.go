package config

import (
	"fmt"
	"net/netip"
	"strings"

	"edgeguard"
)

// Listen says where the node answers.
type Listen struct {
	Auth  []Auth
	Admin []Admin
}

// Auth is one listener for forward auth.
type Auth struct {
	Address Address // tcp or unix
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
	Address   Address // tcp or unix
	TokenFile string  // holds the token that is asked for; empty for none
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
	auth := Auth{Emit: edgeguard.KindRequest}
	n.listener(&auth.Address, fields{
		"trust":   func(n node) { auth.Trust = append([]netip.Prefix{}, n.prefixes()...) },
		"header":  func(n node) { auth.Header = n.header() },
		"fronted": func(n node) { auth.Fronted = n.truth() },
		"emit": func(n node) {
			if n.choice("request", "nothing") == "nothing" {
				auth.Emit = 0
			}
		},
	})
	return auth
}

func readAdmin(n node) Admin {
	var admin Admin
	n.listener(&admin.Address, fields{"token_file": func(n node) { admin.TokenFile = n.folder() }})
	if !admin.Address.Local() && admin.TokenFile == "" && !n.r.touched(n.path, "token_file") {
		n.wrong(fmt.Sprintf("%s can be reached from other hosts, and asks for no token", admin.Address),
			"give token_file, or listen at 127.0.0.1 or a unix socket")
	}
	return admin
}

// listener reads an address, or a mapping with one and further fields.
func (n node) listener(into *Address, known fields) {
	entries, isMapping := n.entries()
	if !isMapping {
		*into = n.address("tcp", "unix")
		return
	}
	known["address"] = func(n node) { *into = n.address("tcp", "unix") }
	if len(entries) == 1 && known[entries[0].Key.GetToken().Value] == nil {
		n.wrongType("an address, or a mapping with one") // 127.0.0.1:9180 without quotes
		return
	}
	n.mapping(known)
	if into.Network == "" && !n.r.touched(n.path, "address") {
		n.wrong("has no address", "give address:, such as 127.0.0.1:9180")
	}
}

// header reads a header's name.
func (n node) header() string {
	text, ok := n.text()
	if ok && strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }) {
		n.wrong(fmt.Sprintf("%q is no header", clip(text)), "write its name, such as X-Real-IP")
	}
	return text
}
