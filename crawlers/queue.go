package crawlers

import (
	"net/netip"
	"time"
)

const (
	// patience is how long a block waits for the answer about its claimant.
	patience = 2 * time.Second
	// mostWaiting is how many addresses wait for their answer, half a minute's
	// work; mostOfNetwork is how many of them are of one IPv4 /24 or IPv6 /48, so
	// that one who rotates his addresses leaves room for others.
	mostWaiting, mostOfNetwork = 256, 16
)

// queue is the addresses that DNS is to be asked about, and is being asked about.
type queue struct {
	on       bool
	order    []netip.Addr // to be asked about, the oldest first
	waiting  map[netip.Addr]time.Time
	networks map[netip.Prefix]int
	signal   chan struct{}
}

func newQueue(on bool) queue {
	return queue{on: on, waiting: make(map[netip.Addr]time.Time), networks: make(map[netip.Prefix]int), signal: make(chan struct{}, 1)}
}

func (q *queue) isFull() bool { return !q.on || len(q.waiting) >= mostWaiting }

// add adds an address, and reports whether it waits now.
func (q *queue) add(now time.Time, addr netip.Addr) bool {
	if _, known := q.waiting[addr]; known {
		return true
	}
	n := network(addr)
	if q.isFull() || q.networks[n] >= mostOfNetwork {
		return false
	}
	q.networks[n]++
	q.waiting[addr] = now
	q.order = append(q.order, addr)
	select {
	case q.signal <- struct{}{}:
	default: // there is a value already
	}
	return true
}

func (q *queue) next() (addr netip.Addr, ok bool) {
	if len(q.order) == 0 {
		return addr, false
	}
	addr, q.order = q.order[0], q.order[1:]
	if len(q.order) > 0 { // for another who waits
		select {
		case q.signal <- struct{}{}:
		default:
		}
	}
	return addr, true
}

func (q *queue) answered(addr netip.Addr) {
	if _, known := q.waiting[addr]; !known {
		return
	}
	delete(q.waiting, addr)
	n := network(addr)
	if q.networks[n]--; q.networks[n] <= 0 {
		delete(q.networks, n)
	}
}

func network(addr netip.Addr) netip.Prefix {
	bits := 24
	if addr.Is6() {
		bits = 48
	}
	p, _ := addr.Prefix(bits) // no error: the bits fit
	return p
}
