package inline

import (
	"net"
	"testing"
)

func TestOnThisHost(t *testing.T) {
	for addr, want := range map[net.Addr]bool{
		&net.UnixAddr{Name: "@", Net: "unix"}:                 true,
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 1}:     true,
		&net.TCPAddr{IP: net.ParseIP("::1"), Port: 1}:         true,
		&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}:     false,
		&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 1}: false,
	} {
		if got := OnThisHost(PeerOf(addr)); got != want {
			t.Errorf("%v: %v", addr, got)
		}
	}
}
