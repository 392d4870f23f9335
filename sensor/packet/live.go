package packet

import (
	"fmt"

	"edgeguard"
)

// LiveKinds are those that an interface is listened to for. How many packets a sender's data makes is not
// known there, since network cards put them together, and requests are left to logs and proxies.
const LiveKinds = edgeguard.KindSYN | edgeguard.KindHandshake | edgeguard.KindUDP | edgeguard.KindICMP

// LiveOptions say what is listened to.
type LiveOptions struct {
	Interface string
	// Promiscuous asks for packets that are not for this host: of a mirror port.
	Promiscuous bool
	Memory      int // of the ring, in bytes
}

// Live listens to an interface, until Close or until it goes away, which is Next's error. Without
// Options.Local packets come in or go out as the kernel says, which knows what this host sends; on a
// loopback both are the same.
func Live(l LiveOptions, o Options) (*Reader, error) {
	asked := o.Kinds
	if o.Kinds &= LiveKinds; o.Kinds == 0 {
		return nil, fmt.Errorf("listen to %s: it shows no event of kind %v, but of %v", l.Interface, asked, LiveKinds)
	}
	o, err := o.check()
	if err == nil {
		var source *ring
		if source, err = openRing(l); err == nil {
			return listen(l.Interface, source, o), nil
		}
	}
	return nil, fmt.Errorf("listen to %s: %w", l.Interface, err)
}

func listen(name string, source *ring, o Options) *Reader {
	r := newReader(name)
	r.ring = source
	p := &pump{to: r, source: source, decoder: newDecoder(o), batch: <-r.spare}
	source.idle = func() { // also of packets without an event
		p.publish()
		p.hand()
	}
	go func() {
		defer source.release()
		p.run()
	}()
	return r
}
