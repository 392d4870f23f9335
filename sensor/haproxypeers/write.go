package haproxypeers

import (
	"context"
	"time"

	"edgeguard/haproxy/peers"
)

// takeAtOnce is how many entries are taken and written together, so that a HAProxy that
// reads slowly has writeFor for each such part.
const takeAtOnce = 4096

// resyncEvery is the shortest time between two answers to requests for everything. HAProxy
// asks once on a connection; who asks all the time would have all blocks written as often.
const resyncEvery = time.Second

// askAfter is how long a new connection is given for HAProxy's own request for a resync.
// It is answered first: until then HAProxy says that its tables may not be whole, and what
// it counts meanwhile could not be told from what it had.
const askAfter = 200 * time.Millisecond

// writer is the other half of a session: one goroutine that writes all there is.
type writer struct {
	*session
	buf     []byte
	taught  []peers.Taught
	table   int       // the one that the last entries were of, -1 for none
	ids     []uint32  // the last update of each table
	written time.Time // when something was
	resync  bool      // HAProxy asks for everything, which it is not taught yet
	again   time.Time // when that may be, for what it asked for last
	ask     time.Time // when to ask HAProxy for its tables at the latest; zero: it was asked
}

// write writes until ctx is done or the connection ends.
func (s *session) write(ctx context.Context) error {
	w := &writer{session: s, taught: make([]peers.Taught, 0, takeAtOnce), table: -1, ids: make([]uint32, len(s.server.config.Blocks))}
	w.buf = peers.AppendStatus(w.buf, peers.Accepted)
	if err := w.flush(); err != nil {
		return err
	}
	w.ask = w.written.Add(askAfter)
	for {
		wait, err := w.round(s.server.config.Now())
		if err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-w.follower.Due():
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// round writes all that is due, and returns for how long nothing more will be.
func (w *writer) round(now time.Time) (wait time.Duration, err error) {
	w.mu.Lock()
	out := w.out
	w.out = outgoing{acks: map[uint64]uint32{}}
	w.mu.Unlock()
	for range out.confirms {
		w.buf = peers.AppendControl(w.buf, peers.ResyncConfirm)
	}
	for table, id := range out.acks {
		w.buf = peers.AppendAcknowledge(w.buf, table, id)
	}
	w.resync = w.resync || out.resync
	all := w.resync && !time.Now().Before(w.again)
	if all {
		w.follower.Again()
		w.resync, w.again = false, time.Now().Add(resyncEvery)
	}
	next, err := w.teach(now)
	if err != nil {
		return 0, err
	}
	if all {
		w.buf = peers.AppendControl(w.buf, peers.ResyncFinished)
	}
	if first := !w.ask.IsZero() && (all || !time.Now().Before(w.ask)); first || out.ask {
		w.buf, w.ask = peers.AppendControl(w.buf, peers.ResyncRequest), time.Time{}
	}
	silent := time.Since(w.written)
	if len(w.buf) == 0 && silent >= heartbeatEvery {
		w.buf = peers.AppendControl(w.buf, peers.Heartbeat)
	}
	if len(w.buf) > 0 {
		silent = 0
	}
	wait = heartbeatEvery - silent
	if !next.IsZero() {
		wait = min(wait, max(next.Sub(now), 0))
	}
	if w.resync {
		wait = min(wait, max(time.Until(w.again), 0))
	}
	if !w.ask.IsZero() {
		wait = min(wait, max(time.Until(w.ask), 0))
	}
	return wait, w.flush()
}

// teach writes the entries that are due.
func (w *writer) teach(now time.Time) (next time.Time, err error) {
	for {
		w.taught, next = w.follower.Take(now, w.taught[:0])
		for _, t := range w.taught {
			if t.Table != w.table {
				w.choose(t.Table)
			}
			w.ids[t.Table]++
			w.buf = peers.AppendEntry(w.buf, w.ids[t.Table], t.Entry)
		}
		w.mu.Lock()
		w.figures.Taught += uint64(len(w.taught))
		w.mu.Unlock()
		if next.IsZero() || next.After(now) {
			return next, nil
		}
		if err := w.flush(); err != nil {
			return next, err
		}
	}
}

// choose makes a table that of the next entries. HAProxy knows a table from its
// first definition on.
func (w *writer) choose(table int) {
	d := &w.server.config.Blocks[table]
	if w.ids[table] == 0 {
		w.buf = peers.AppendDefinition(w.buf, d)
	} else {
		w.buf = peers.AppendSwitch(w.buf, d.ID)
	}
	w.table = table
}

func (w *writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_ = w.conn.SetWriteDeadline(time.Now().Add(writeFor))
	_, err := w.conn.Write(w.buf)
	w.buf, w.written = w.buf[:0], time.Now()
	return err
}
