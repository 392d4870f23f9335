package yaml

import (
	"io/fs"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// maxSocketPath is the longest path of a unix socket, in bytes.
const maxSocketPath = 107

// Address is where something listens, or is reached.
type Address struct {
	Network string // "tcp", "udp", "unix" or "unixgram", as package net has them; empty for none
	Address string // host:port, or the socket's path
}

// String returns the address as the config has it: host:port, udp:host:port,
// unix:/path or unixgram:/path.
func (a Address) String() string {
	if a.Network == "tcp" || a.Network == "" {
		return a.Address
	}
	return a.Network + ":" + a.Address
}

// Unix reports whether the address is the file of a socket.
func (a Address) Unix() bool { return a.Network == "unix" || a.Network == "unixgram" }

// Local reports whether only this host can reach the address.
func (a Address) Local() bool {
	if a.Network != "tcp" && a.Network != "udp" {
		return true
	}
	host, _, _ := net.SplitHostPort(a.Address)
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// Access is who of this host may connect to a unix socket: any user who may write
// to its file. It is zero for TCP.
type Access struct {
	Mode  fs.FileMode
	Group string // a name or a number; empty for that of the process
}

const (
	// GroupMode admits the group, and OwnMode only root and the node's own user.
	GroupMode fs.FileMode = 0o660
	OwnMode   fs.FileMode = 0o600
)

// addressForms returns how addresses of the networks are written, for an error.
func addressForms(networks []string) string {
	var forms []string
	for _, network := range networks {
		form := network + ":/run/edgeguard/NAME.sock"
		switch network {
		case "tcp":
			form = "host:port, such as 127.0.0.1:9180"
		case "udp":
			form = "udp:host:port"
		}
		forms = append(forms, form)
	}
	return strings.Join(forms, " or ")
}

// ParseAddress reads host:port, tcp:host:port, udp:host:port, unix:/path or
// unixgram:/path.
func ParseAddress(text string) (a Address, ok bool) {
	for _, network := range []string{"unix", "unixgram"} {
		if path, is := strings.CutPrefix(text, network+":"); is {
			return Address{network, path}, strings.HasPrefix(path, "/") && len(path) <= maxSocketPath
		}
	}
	network := "tcp"
	if rest, is := strings.CutPrefix(text, "udp:"); is {
		network, text = "udp", rest
	}
	text = strings.TrimPrefix(text, "tcp:")
	_, port, err := net.SplitHostPort(text)
	_, bad := strconv.ParseUint(port, 10, 16)
	return Address{network, text}, err == nil && bad == nil
}
