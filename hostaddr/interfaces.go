package hostaddr

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// interfaces is the source of this host's own addresses, those of interfaces
// that are down included: one that comes up must not find its address blocked.
//
// It asks for all addresses together, and for their interfaces only if these have
// changed. The latter takes a dump of all addresses for each interface, and a host
// of containers has hundreds.
type interfaces struct {
	addrs []netip.Addr
	named []Protected
}

func (i *interfaces) look() ([]Protected, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	addrs := make([]netip.Addr, len(list))
	for n, a := range list {
		addrs[n] = addrOf(a)
	}
	if i.named != nil && slices.Equal(addrs, i.addrs) {
		return i.named, nil
	}
	named, err := name()
	if err == nil {
		i.addrs, i.named = addrs, named
	}
	return named, err
}

// name lists the addresses interface by interface. One that vanishes between
// the two questions is an error here and gone at the next look.
func name() ([]Protected, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	var found []Protected
	var errs []error
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil {
			errs = append(errs, fmt.Errorf("interface %s: %w", i.Name, err))
		}
		for _, a := range addrs {
			if p, ok := single(addrOf(a), "interface "+i.Name); ok {
				found = append(found, p)
			}
		}
	}
	return found, errors.Join(errs...)
}

// addrOf is the address of an interface's network; the zero one if a is none.
func addrOf(a net.Addr) netip.Addr {
	n, ok := a.(*net.IPNet)
	if !ok {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice(n.IP)
	return addr
}
