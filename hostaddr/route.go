package hostaddr

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
)

// rtfGateway marks a route whose next hop is a router; from Linux
// include/uapi/linux/route.h.
const rtfGateway = 0x2

// gateway is the reason of a next hop. Those of all routes are protected, not
// only of the default ones: a VPN replaces 0.0.0.0/0 by two halves.
const gateway = "gateway"

// parseRoutes4 reads a line of /proc/net/route: interface, destination,
// gateway, flags and more, all hexadecimal. An address is the kernel's four
// bytes printed as one number of the machine's own byte order.
func parseRoutes4(line []byte) (found Protected, ok bool, err error) {
	fields := bytes.Fields(line)
	if len(fields) == 0 || string(fields[0]) == "Iface" {
		return found, false, nil
	}
	if len(fields) < 4 {
		return found, false, fmt.Errorf("%d fields, not at least 4: %.80q", len(fields), line)
	}
	flags, err := routeFlags(fields[3])
	if err != nil || flags&rtfGateway == 0 {
		return found, false, err
	}
	hop, err := strconv.ParseUint(string(fields[2]), 16, 32)
	if err != nil || len(fields[2]) != 8 {
		return found, false, fmt.Errorf("gateway %.80q is not 8 hexadecimal digits", fields[2])
	}
	var addr [4]byte
	binary.NativeEndian.PutUint32(addr[:], uint32(hop))
	found, ok = single(netip.AddrFrom4(addr), gateway)
	return found, ok, nil
}

// parseRoutes6 reads a line of /proc/net/ipv6_route: destination and its
// length, source and its length, next hop, metric, two counters, flags,
// interface.
func parseRoutes6(line []byte) (found Protected, ok bool, err error) {
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return found, false, nil
	}
	if len(fields) < 10 {
		return found, false, fmt.Errorf("%d fields, not 10: %.80q", len(fields), line)
	}
	flags, err := routeFlags(fields[8])
	if err != nil || flags&rtfGateway == 0 {
		return found, false, err
	}
	var addr [16]byte
	if len(fields[4]) != hex.EncodedLen(len(addr)) {
		return found, false, fmt.Errorf("next hop %.80q is not 32 hexadecimal digits", fields[4])
	}
	if _, err := hex.Decode(addr[:], fields[4]); err != nil {
		return found, false, fmt.Errorf("next hop %.80q is not 32 hexadecimal digits", fields[4])
	}
	found, ok = single(netip.AddrFrom16(addr), gateway)
	return found, ok, nil
}

func routeFlags(field []byte) (uint64, error) {
	flags, err := strconv.ParseUint(string(field), 16, 32)
	if err != nil {
		return 0, fmt.Errorf("flags %.80q are not a hexadecimal number", field)
	}
	return flags, nil
}
