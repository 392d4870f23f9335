package peers

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"
)

const columns = 2

var counts = &Definition{ID: 1, Name: "/counts", Key: IPv6, KeyBytes: 16, Expire: 10 * time.Minute,
	Stored: []Stored{{Type: GPT0, Elements: 1}, {Type: GPC, Elements: columns}}}

func key(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }

// process is one process of a simulated HAProxy, with its table.
type process struct {
	pid     int
	size    int
	table   map[int]*counted
	pending []int // keys that changed, in that order
	synced  bool  // it says that it is up to date itself
	taught  bool  // its heir has its table; what it counts from then on is lost
	begun   time.Time
	ended   time.Time // when it was told to end
}

// asked is a request as a column counts it.
type asked struct {
	at    time.Time
	shown bool // to edgeguard
}

// counted is an entry of a table: the requests that its counters are of.
type counted struct {
	of      [columns][]*asked
	touched time.Time
	pinned  bool // a long stream: it is neither expired nor evicted
}

func (p *process) entry(now time.Time, k int) *counted {
	for other, e := range p.table {
		if !e.pinned && now.Sub(e.touched) > counts.Expire {
			p.forget(other)
		}
	}
	if p.table[k] == nil {
		if len(p.table) >= p.size {
			p.evict()
		}
		p.table[k] = &counted{}
	}
	return p.table[k]
}

func (p *process) forget(k int) {
	delete(p.table, k)
	if i := slices.Index(p.pending, k); i >= 0 { // what is gone is not sent
		p.pending = slices.Delete(p.pending, i, i+1)
	}
}

func (p *process) evict() {
	oldest := -1
	for k, e := range p.table {
		if !e.pinned && (oldest < 0 || e.touched.Before(p.table[oldest].touched)) {
			oldest = k
		}
	}
	if oldest >= 0 {
		p.forget(oldest)
	}
}

func (p *process) touch(now time.Time, k int) {
	p.table[k].touched = now
	if !slices.Contains(p.pending, k) {
		p.pending = append(p.pending, k)
	}
}

// teach overwrites what the heir counted, as HAProxy does. It happens once: an old process
// ends the connection then.
func (p *process) teach(heir *process) {
	for k, e := range p.table {
		c := &counted{touched: e.touched}
		for column, all := range e.of {
			c.of[column] = slices.Clip(all)
		}
		heir.table[k] = c
	}
	p.taught, heir.synced = true, heir.synced || p.synced
}

// world is a HAProxy, edgeguard and what truly happened.
type world struct {
	seed   uint64
	t      *testing.T
	r      *rand.Rand
	now    time.Time
	opts   options
	live   *process
	old    []*process // they end, and may still serve and teach
	pids   int
	tally  *Tally
	s      *Session
	dump   []int // of a resync: keys that are still to be sent
	dumps  bool
	asked  map[[2]int][]*asked // key, column
	added  []Increase
	saved  []byte
	savedA []Increase
	cold   time.Time // when edgeguard began without a state
}

type options struct {
	keys, size, room                   int
	reloads, restarts, colds, outages  bool
	expiry, pins, crashes, inheritance bool
	late                               bool // inheritance
	exact                              bool
}

func newWorld(t *testing.T, seed uint64, opts options) *world {
	w := &world{seed: seed, t: t, r: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0), opts: opts, asked: map[[2]int][]*asked{}, tally: NewTally(opts.room)}
	w.restartHAProxy()
	for range 2 { // resyncs, without a key
		w.read(8)
	}
	return w
}

func (w *world) process() *process {
	w.pids++
	return &process{pid: w.pids, size: w.opts.size, table: map[int]*counted{}, begun: w.now}
}

func (w *world) chance(n int) bool { return w.r.IntN(n) == 0 }

// restartHAProxy kills HAProxy. One that has nothing before it is up to date.
func (w *world) restartHAProxy() {
	w.live, w.old = w.process(), nil
	w.live.synced = true
	w.connect()
}

func (w *world) connect() {
	w.s = w.tally.Begin("ha1", w.live.pid, w.now)
	if w.s.Doubled() {
		w.t.Fatal("a HAProxy is taken for two")
	}
	w.resync()
}

func (w *world) resync() {
	w.dump, w.dumps = nil, true
	w.s.Define(counts)
	for k := range w.opts.keys {
		if w.live.table[k] != nil {
			w.dump = append(w.dump, k)
		}
	}
}

// read is one read of the connection, of so many updates at most.
func (w *world) read(most int) {
	if w.s == nil {
		return
	}
	p := w.live
	n := min(most, len(p.pending))
	if w.dumps {
		n = min(most, len(w.dump))
	}
	bytes := 28 * n
	if n == most {
		bytes = room
	}
	w.s.Round(w.now, bytes)
	if w.dumps {
		for _, k := range w.dump[:n] {
			w.send(p, k, true)
		}
		if w.dump = w.dump[n:]; len(w.dump) == 0 {
			w.dumps = false
			w.s.Resynced(p.synced)
		}
	} else {
		for _, k := range p.pending[:n] {
			w.send(p, k, false)
		}
		p.pending = slices.Clone(p.pending[n:])
	}
	if w.s.AskResync(w.now) {
		w.resync()
	}
}

func (w *world) send(p *process, k int, timed bool) {
	e := p.table[k]
	if e == nil {
		return
	}
	as16 := key(k).As16()
	u := &Update{Table: counts, Key: as16[:], Numbers: []uint64{7}}
	for _, all := range e.of {
		u.Numbers = append(u.Numbers, uint64(len(all)))
		for i := len(all) - 1; i >= 0 && !all[i].shown; i-- {
			all[i].shown = true
		}
	}
	if timed {
		u.Timed, u.TTL = true, max(0, counts.Expire-w.now.Sub(e.touched))
	}
	for _, one := range w.s.Add(u, nil) {
		if one.At.After(w.now) || one.At.IsZero() {
			w.t.Fatalf("at %v: an increase of %v", w.now, one.At)
		}
		w.added = append(w.added, one)
	}
}

func (w *world) request(k int) {
	p := w.live
	if len(w.old) > 0 && w.now.Sub(p.begun) < lingers && w.chance(4) {
		p = w.old[w.r.IntN(len(w.old))]
	}
	w.requestAt(p, k)
}

func (w *world) requestAt(p *process, k int) {
	e := p.entry(w.now, k)
	for column := range columns {
		if column == 0 || w.chance(3) {
			one := &asked{at: w.now}
			e.of[column] = append(e.of[column], one)
			w.asked[[2]int{k, column}] = append(w.asked[[2]int{k, column}], one)
		}
	}
	p.touch(w.now, k)
}

func (w *world) reload() {
	w.live.ended = w.now
	w.old = append(w.old, w.live)
	w.old = w.old[max(0, len(w.old)-3):]
	w.live = w.process()
	w.connect()
}

// inherit lets an old process teach the one after it, or the newest, soon or late.
func (w *world) inherit() {
	if !w.opts.inheritance || len(w.old) == 0 {
		return
	}
	i := w.r.IntN(len(w.old))
	heir := w.live
	if i+1 < len(w.old) && !w.chance(4) {
		heir = w.old[i+1]
	}
	if age := w.now.Sub(w.old[i].ended); age > lingers && (!w.opts.late || w.old[i].ended.Before(w.cold) || age > handover) {
		return
	}
	if !w.old[i].taught {
		w.old[i].teach(heir)
	}
}

// learn lets a process that learned nothing from the one before give that up: then it says
// that it is up to date.
func (w *world) learn() {
	w.live.synced = w.live.synced || w.now.Sub(w.live.begun) > lingers
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(1+w.r.IntN(90)) * time.Millisecond)
	for range w.r.IntN(4) {
		w.request(w.r.IntN(w.opts.keys))
	}
	w.learn()
	w.read(8)
	switch w.r.IntN(400) {
	case 0: // a stall: edgeguard reads nothing
		until := w.now.Add(time.Duration(w.r.IntN(20_000)) * time.Millisecond)
		for w.now.Before(until) {
			w.now = w.now.Add(time.Duration(w.r.IntN(400)) * time.Millisecond)
			w.request(w.r.IntN(w.opts.keys))
		}
	case 1:
		if w.opts.outages {
			w.s = nil
		}
	case 2, 3:
		if w.s == nil {
			w.connect()
		}
	case 4:
		if w.opts.reloads {
			w.reload()
		}
	case 5, 6, 7:
		w.inherit()
	case 8:
		if w.opts.restarts {
			w.restart(w.tally.Append(nil, 0), w.added)
		}
	case 9:
		if w.opts.crashes { // the counts are taken before the tally
			w.savedA = slices.Clone(w.added)
			w.read(8)
			w.saved = w.tally.Append(nil, 0)
		}
	case 10:
		if w.opts.crashes && w.saved != nil {
			w.restart(w.saved, w.savedA)
		}
	case 11:
		if w.opts.colds && w.chance(4) {
			w.tally, w.cold, w.saved = NewTally(w.opts.room), w.now, nil
			w.connect()
		}
	case 12:
		if w.opts.expiry {
			w.quiet(counts.Expire + time.Second)
		}
	case 13, 14:
		if w.opts.pins {
			k := w.r.IntN(w.opts.keys)
			if e := w.live.table[k]; e != nil {
				e.pinned = !e.pinned
				w.live.touch(w.now, k)
			}
		}
	case 15:
		if w.opts.crashes && w.opts.reloads && w.chance(4) {
			w.restartHAProxy()
		}
	}
}

// quiet lets time pass, in which nothing is there to be read.
func (w *world) quiet(d time.Duration) {
	for until := w.now.Add(d); w.now.Before(until); w.now = w.now.Add(70 * time.Millisecond) {
		w.learn()
		w.read(8)
	}
}

// restart goes on with a state, and the counts that were taken with it.
func (w *world) restart(state []byte, added []Increase) {
	var err error
	if w.tally, err = ReadTally(state, w.opts.room); err != nil {
		w.t.Fatal(err)
	}
	w.added = slices.Clone(added)
	w.now = w.now.Add(time.Duration(w.r.IntN(30_000)) * time.Millisecond)
	w.request(w.r.IntN(w.opts.keys))
	w.connect()
}

// counted is what is counted of each key and column in a window that ends now.
func (w *world) counted(window time.Duration) map[[2]int]int {
	have := map[[2]int]int{}
	for i := range w.added {
		if one := &w.added[i]; w.now.Sub(one.At) < window {
			have[[2]int{int(one.Key.As4()[3]), one.Column}] += int(one.N)
		}
	}
	return have
}

// check compares with what truly happened: in all, and in windows that end now. What
// was read late by less than tolerance may be late by that.
func (w *world) check() {
	const tolerance = 800 * time.Millisecond
	windows := []time.Duration{1 << 62, time.Minute, 5 * time.Minute}
	if w.opts.late { // what was counted minutes before it is inherited has no better time
		windows = windows[:1]
	}
	for _, window := range windows {
		for at, n := range w.counted(window) {
			truth := 0
			for _, one := range w.asked[at] {
				if w.now.Sub(one.at)-tolerance < window {
					truth++
				}
			}
			if n > truth {
				w.t.Fatalf("seed %d: key %d, column %d: %d counted within %v, %d requested", w.seed, at[0], at[1], n, window, truth)
			}
		}
	}
}

func (w *world) sums() (have, want int) {
	for _, one := range w.added {
		have += int(one.N)
	}
	for _, all := range w.asked {
		want += len(all)
	}
	return have, want
}
