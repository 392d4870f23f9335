package lapi

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// mostMarks is how many addresses of one key are known. One more takes the place of
	// the one that pulled least.
	mostMarks = 64
	// markFor is how long an address is known that does not pull.
	markFor = 24 * time.Hour
	// A key may spend costOfRequest for each request, costOfLook for each decision that is
	// looked at, twice in a stream, and one for each that it is sent: mostSpare of these
	// together, and spareEach a second from then on. That is some thirty lists of 100,000,
	// and then a tenth of a processor.
	mostSpare, spareEach = 4_000_000, 40_000
	costOfRequest        = 20
	costOfStream         = 1000
	costOfLook           = 0.1
)

// pulls is what bouncers have asked for. It is safe for concurrent use.
type pulls struct {
	mu  sync.Mutex // guards all
	all map[string]*account
}

// account is what the bouncers of one key did. It is safe for concurrent use.
type account struct {
	turns chan struct{} // holds one for each stream that is written
	open  chan struct{} // holds one for each request

	mu     sync.Mutex // guards all below
	spare  float64
	filled time.Time
	marks  map[netip.Addr]*mark
	usage  Usage
}

// Usage is what the bouncers of one key did since the start of the node.
type Usage struct {
	Pulls, Whole, Questions uint64 // streams answered; those with everything; questions about one address
	Served, Reports         uint64 // decisions sent; figures received
	Limited                 uint64 // requests that were too much
	Last                    time.Time
	Address                 netip.Addr // of the last
	Agent                   string
	Kernel                  bool
	// Every is the time between two pulls of one address, of late; 0 if it is not known.
	Every time.Duration
	// Behind is how many changes the bouncer that is furthest behind has not been told.
	Behind uint64
	// Marks is how many addresses are known.
	Marks int
}

// mark is how far one address was told.
type mark struct {
	seq    uint64
	kernel bool
	pulls  uint64
	last   time.Time
}

// account returns the account of a key.
func (p *pulls) account(name string, now time.Time) *account {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.all[name]
	if a == nil {
		a = &account{spare: mostSpare, filled: now, marks: make(map[netip.Addr]*mark), turns: make(chan struct{}, mostTurnsOfKey), open: make(chan struct{}, mostOpen)}
		p.all[name] = a
	}
	return a
}

// Forget drops what is known of a key that was removed.
func (s *Server) Forget(name string) {
	s.pulls.mu.Lock()
	defer s.pulls.mu.Unlock()
	delete(s.pulls.all, name)
}

// Usage returns what the bouncers of a key did; ok is false if none has asked.
func (s *Server) Usage(name string) (u Usage, ok bool) {
	s.pulls.mu.Lock()
	a := s.pulls.all[name]
	s.pulls.mu.Unlock()
	if a == nil {
		return u, false
	}
	last, _ := s.Journal.Marks()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire(s.Now())
	u = a.usage
	u.Marks = len(a.marks)
	for _, m := range a.marks {
		u.Behind = max(u.Behind, last-min(last, m.seq))
	}
	return u, true
}

// mayAsk reports whether a key may ask, and takes what it costs. It may owe a little.
func (a *account) mayAsk(now time.Time, cost float64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if passed := now.Sub(a.filled).Seconds(); passed > 0 {
		a.spare, a.filled = min(mostSpare, a.spare+passed*spareEach), now
	}
	if a.spare < cost {
		return false
	}
	a.spare -= cost
	return true
}

// chargeAnswer takes what an answer has cost. What was looked at costs, too: a filter that nothing
// passes would make long work of a short answer.
func (a *account) chargeAnswer(sent, looked int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spare -= float64(sent) + float64(looked)*costOfLook
	a.usage.Served += uint64(sent)
}

func (a *account) limit() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.usage.Limited++
}

func (a *account) reported() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.usage.Reports++
}

// noteQuestion notes a question about one address.
func (by *asker) noteQuestion(now time.Time) {
	by.mu.Lock()
	defer by.mu.Unlock()
	by.usage.Questions++
	by.seen(now)
}

// seen notes who asked last. It needs the lock.
func (by *asker) seen(now time.Time) {
	by.usage.Last, by.usage.Address, by.usage.Agent, by.usage.Kernel = now, by.addr, by.agent, by.kernel
}

// toldUpTo returns how far the asker was told; ok is false if that is not known.
func (by *asker) toldUpTo() (seq uint64, ok bool) {
	by.mu.Lock()
	defer by.mu.Unlock()
	m := by.marks[by.addr]
	if m == nil || m.kernel != by.kernel {
		return 0, false
	}
	return m.seq, true
}

// noteTold notes that the asker was told everything up to a change.
func (by *asker) noteTold(now time.Time, seq uint64, whole bool) {
	by.mu.Lock()
	defer by.mu.Unlock()
	by.usage.Pulls++
	if whole {
		by.usage.Whole++
	}
	by.seen(now)
	m := by.marks[by.addr]
	if m == nil {
		by.expire(now)
		by.makeRoom()
		m = new(mark)
		by.marks[by.addr] = m
	} else if every := now.Sub(m.last); m.pulls > 1 || !whole { // the first pause may be a restart
		by.usage.Every = every
	}
	m.seq, m.kernel, m.last = seq, by.kernel, now
	m.pulls++
}

// expire drops marks that are not used. It needs the lock.
func (a *account) expire(now time.Time) {
	for addr, m := range a.marks {
		if now.Sub(m.last) > markFor {
			delete(a.marks, addr)
		}
	}
}

// makeRoom drops the mark that pulled least, if there are as many as may be. It needs the
// lock.
func (a *account) makeRoom() {
	if len(a.marks) < mostMarks {
		return
	}
	var least netip.Addr
	for addr, m := range a.marks {
		of := a.marks[least]
		if of == nil || m.pulls < of.pulls || m.pulls == of.pulls && m.last.Before(of.last) {
			least = addr
		}
	}
	delete(a.marks, least)
}
