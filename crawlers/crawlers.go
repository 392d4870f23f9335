// Package crawlers finds out whether a client that says it is a crawler is one. A
// User-Agent is a claim: anybody can write it. A claim is verified by the address,
// which must be in the ranges that the crawler's operator publishes, or have a name of
// his that leads back to the address (forward-confirmed reverse DNS).
//
// An event gets its [edgeguard.Event.Crawler] from memory alone: a request never
// waits for DNS. What is not known yet is put into a bounded queue, which a
// resolver works through, and is "unknown" until then. So is what DNS fails to
// answer: only a definite answer makes an impostor.
//
// Who writes many agents from many addresses fills the queue, not the memory, and
// makes crawlers that are known by DNS alone unknown: range files depend on
// nobody's questions.
package crawlers

import (
	"fmt"
	"math/bits"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
)

// Spec is one crawler.
type Spec struct {
	// Name is what rules call it.
	Name string
	// Agents are texts of which its User-Agent has one, in any case.
	Agents []string
	// Ranges are the files of its addresses.
	Ranges []string
	// DNS are the domains of its names.
	DNS []string
}

// What an event's Crawler can be, besides [edgeguard.VerifiedCrawler] of a name.
const (
	none     = "none"     // claims nothing
	unknown  = "unknown"  // claims, and cannot be verified now
	impostor = "impostor" // claims, and is not
)

// Most is how many crawlers there may be: a claim is a bit.
const Most = 64

// Claims are counters of the events that claimed to be a crawler's, and of
// questions to DNS.
type Claims struct {
	Verified  uint64 `json:"verified"`
	Impostors uint64 `json:"impostors"` // the claim was not true
	Unknown   uint64 `json:"unknown"`
	Asked     uint64 `json:"asked"`   // addresses that DNS was asked about
	Failed    uint64 `json:"failed"`  // of these: without a definite answer
	Unasked   uint64 `json:"unasked"` // events whose address found no room in the queue
	Cached    int    `json:"cached"`  // answers that are remembered
}

// Crawlers says who is one. It is safe for concurrent use.
type Crawlers struct {
	specs    []Spec
	verified []string // by crawler: its value of an event
	byDNS    uint64   // crawlers that have domains
	byFile   uint64   // crawlers that have files
	claims   automaton
	ranges   []atomic.Pointer[Ranges] // by crawler; nil until its files were read

	figures struct{ verified, impostors, unknown, asked, failed, unasked atomic.Uint64 }

	mu      sync.RWMutex // guards all below
	answers answers
	queue   queue
}

// New returns the crawlers of a config, or what is wrong with it. Without dns no
// question is queued: what only DNS could say stays unknown.
func New(specs []Spec, dns bool) (*Crawlers, error) {
	if len(specs) > Most {
		return nil, fmt.Errorf("crawlers: there are %d; use at most %d", len(specs), Most)
	}
	c := &Crawlers{specs: specs, ranges: make([]atomic.Pointer[Ranges], len(specs)), answers: newAnswers(), queue: newQueue(dns)}
	names := make(map[string]bool)
	for i := range specs {
		s := &specs[i]
		if field, err := s.Check(); err != nil {
			return nil, fmt.Errorf("crawlers[%d].%s: %w", i, field, err)
		}
		if names[s.Name] {
			return nil, fmt.Errorf("crawlers[%d].name: %q is given twice; remove one of them", i, s.Name)
		}
		names[s.Name] = true
		c.verified = append(c.verified, edgeguard.VerifiedCrawler+s.Name)
		if len(s.DNS) > 0 {
			c.byDNS |= 1 << i
		}
		if len(s.Ranges) > 0 {
			c.byFile |= 1 << i
		}
		for _, agent := range s.Agents {
			c.claims.addText(agent, 1<<i)
		}
	}
	c.claims.finish()
	return c, nil
}

// Specs returns the crawlers, by which SetRanges and answers number them.
func (c *Crawlers) Specs() []Spec { return c.specs }

// SetRanges replaces the addresses of a crawler.
func (c *Crawlers) SetRanges(crawler int, r *Ranges) { c.ranges[crawler].Store(r) }

// MarkClient sets who the event's client is, as a crawler. An event without an agent
// claims nothing: it does not help a client to have its agent cut off. Nil crawlers
// leave the event as it is.
func (c *Crawlers) MarkClient(now time.Time, ev *edgeguard.Event) {
	if c == nil {
		return
	}
	ev.Known |= edgeguard.FieldCrawler
	ev.Crawler, ev.Awaited = none, false
	if ev.Known&edgeguard.FieldAgent == 0 {
		return
	}
	claims := c.claims.claimsOf(ev.Agent)
	if claims == 0 {
		return
	}
	ev.Crawler, ev.Awaited = c.judge(now, ev.Addr, claims)
	switch ev.Crawler {
	case unknown:
		c.figures.unknown.Add(1)
	case impostor:
		c.figures.impostors.Add(1)
	default:
		c.figures.verified.Add(1)
	}
}

// judge returns who a claimant is: of several claims one that is true suffices, and
// all must be false for an impostor. awaited says that DNS may still say who he is.
func (c *Crawlers) judge(now time.Time, addr netip.Addr, claims uint64) (who string, awaited bool) {
	open := false // a claim that neither is true nor false
	for rest := claims & c.byFile; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		r := c.ranges[i].Load()
		if r.Contains(addr) {
			return c.verified[i], false
		}
		open = open || r == nil
	}
	if claims&c.byDNS != 0 {
		a, wait := c.ask(now, addr)
		if is := a.confirmed & claims; is != 0 {
			return c.verified[bits.TrailingZeros64(is)], false
		}
		open, awaited = open || !a.definite, wait
	}
	if open {
		return unknown, awaited
	}
	return impostor, false
}

// ask returns what DNS said of an address. If that is not known, it queues the
// question; wait says that the answer may come soon.
func (c *Crawlers) ask(now time.Time, addr netip.Addr) (a answer, wait bool) {
	c.mu.RLock()
	a, known := c.answers.answerFor(now, addr)
	since, waiting := c.queue.waiting[addr]
	full := c.queue.isFull()
	c.mu.RUnlock()
	switch {
	case known:
		return a, false
	case waiting:
		return a, now.Sub(since) < patience
	case full:
		c.figures.unasked.Add(1)
		return a, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, known := c.answers.answerFor(now, addr); known { // answered since
		return a, false
	}
	if !c.queue.add(now, addr) {
		c.figures.unasked.Add(1)
		return a, false
	}
	return a, true
}

// Questions returns a channel that receives a value when there may be a question.
func (c *Crawlers) Questions() <-chan struct{} { return c.queue.signal }

// NextQuestion returns the address that DNS is to be asked about next. Its answer must
// follow, by Answer.
func (c *Crawlers) NextQuestion() (addr netip.Addr, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.next()
}

// Domain returns the crawlers whose domain a name lies in, a bit each.
func (c *Crawlers) Domain(name string) (crawlers uint64) {
	for i := range c.specs {
		for _, domain := range c.specs[i].DNS {
			if within(name, domain) {
				crawlers |= 1 << i
			}
		}
	}
	return crawlers
}

// Answer notes what DNS said of an address: the crawlers that have a name for it, which
// leads back to the address. definite is false if DNS failed to say.
func (c *Crawlers) Answer(now time.Time, addr netip.Addr, crawlers uint64, definite bool) {
	c.figures.asked.Add(1)
	if !definite && crawlers == 0 {
		c.figures.failed.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue.answered(addr)
	c.answers.putAnswer(now, addr, crawlers, definite)
}

// Figures returns the counters.
func (c *Crawlers) Figures() Claims {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f := &c.figures
	return Claims{
		Verified: f.verified.Load(), Impostors: f.impostors.Load(), Unknown: f.unknown.Load(),
		Asked: f.asked.Load(), Failed: f.failed.Load(), Unasked: f.unasked.Load(), Cached: c.answers.len(),
	}
}
