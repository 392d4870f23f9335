package hostaddr

import (
	"bytes"
	"fmt"
	"net/netip"
)

// parseResolvers reads a line of a resolv.conf(5): "nameserver ADDRESS", where
// an IPv6 address may carry a zone. Other lines do not concern us.
func parseResolvers(line []byte) (found Protected, ok bool, err error) {
	fields := bytes.Fields(line)
	if len(fields) == 0 || string(fields[0]) != "nameserver" {
		return found, false, nil
	}
	if len(fields) == 1 {
		return found, false, fmt.Errorf("nameserver without an address")
	}
	addr, err := netip.ParseAddr(string(fields[1]))
	if err != nil {
		return found, false, fmt.Errorf("nameserver %.80q is not an address", fields[1])
	}
	// 0.0.0.0 and :: mean this host, which is protected as loopback.
	found, ok = single(addr, "resolver")
	return found, ok, nil
}
