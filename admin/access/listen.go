package access

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// MayListen returns an error for an address beyond loopback, if there is no token.
func (p *Policy) MayListen(address net.Addr) error {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || len(p.tokens) > 0 || p.proxy.Set || tcp.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("admin %s: listening beyond loopback requires a token, or any host could read the list of blocks; set token_file, or listen at 127.0.0.1 or on a unix socket", address)
}

// isLocalHost reports whether a Host header names this machine's loopback, as
// it does for every client except a browser that a stranger's DNS answer sent here.
func isLocalHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
