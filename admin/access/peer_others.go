//go:build !linux

package access

import "net"

// unixPeer names the way only: other systems tell the peer in other ways.
func unixPeer(net.Conn) string { return "unix socket" }
