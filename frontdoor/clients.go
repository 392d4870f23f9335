package frontdoor

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// MostClients bounds how many networks are named as clients' at run time: each is compared with
// whoever exceeds a limit.
const MostClients = 256

// Client is a network whose addresses are clients' by an operator's word.
type Client struct {
	Prefix netip.Prefix
	Since  time.Time // by the clock of the wall
}

// clients are those networks in the order of their prefixes. It is safe for concurrent use.
type clients struct {
	mu      sync.Mutex // guards writing the others
	all     atomic.Pointer[[]Client]
	changes atomic.Uint64
}

// Clients returns the networks that are named, in the order of their prefixes, and how often that
// has changed. They are not to be changed.
func (s *Sources) Clients() (all []Client, changes uint64) {
	if s == nil {
		return nil, 0
	}
	changes = s.clients.changes.Load() // before: who has an old list asks again
	if p := s.clients.all.Load(); p != nil {
		all = *p
	}
	return all, changes
}

// AddClient names a network, unless there are too many: it returns what is named then. Of one that
// is named already, the first time stays.
func (s *Sources) AddClient(c Client) (named Client, ok bool) {
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	all, _ := s.Clients()
	i, found := find(all, c.Prefix)
	switch {
	case found:
		return all[i], true
	case len(all) >= MostClients:
		return c, false
	}
	s.clients.set(slices.Insert(slices.Clone(all), i, c))
	return c, true
}

// RemoveClient takes back what was said of exactly a network; false if nothing was.
func (s *Sources) RemoveClient(prefix netip.Prefix) (removed Client, ok bool) {
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	all, _ := s.Clients()
	i, found := find(all, prefix)
	if !found {
		return removed, false
	}
	removed = all[i]
	s.clients.set(slices.Delete(slices.Clone(all), i, i+1))
	return removed, true
}

func (c *clients) set(all []Client) {
	c.all.Store(&all)
	c.changes.Add(1)
}

func find(all []Client, prefix netip.Prefix) (i int, found bool) {
	return slices.BinarySearchFunc(all, prefix, func(one Client, p netip.Prefix) int { return one.Prefix.Compare(p) })
}

// isClient reports whether an address is a client's by an operator's word.
func (s *Sources) isClient(a netip.Addr) bool {
	all, _ := s.Clients()
	return slices.ContainsFunc(all, func(c Client) bool { return c.Prefix.Contains(a) })
}
