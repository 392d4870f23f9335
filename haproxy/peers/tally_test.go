package peers

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var tallyNoon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// line is a connection whose reads are 20 ms apart, as a test drives it.
type line struct {
	*Session
	t   *testing.T
	now time.Time
}

func noon(t *testing.T, tally *Tally, pid int, now time.Time) *line {
	s := tally.Begin("ha1", pid, now)
	s.Define(counts)
	return &line{s, t, now}
}

// know begins a connection that has nothing before it.
func know(t *testing.T, tally *Tally) *line {
	l := noon(t, tally, 1, tallyNoon)
	l.Round(tallyNoon, 2)
	if l.Resynced(true) || !l.AskResync(tallyNoon) || !l.Resynced(true) {
		t.Fatal("the second of two resyncs does not show all keys")
	}
	return l
}

// later lets time pass, after which nothing is left to be read.
func (l *line) later(d time.Duration) {
	for _, d := range []time.Duration{d, 20 * time.Millisecond} {
		l.now = l.now.Add(d)
		l.Round(l.now, 2)
	}
}

// gets is a read with one update. It returns what that adds.
func (l *line) gets(key string, values ...uint64) []Increase {
	return l.getsTimed(-1, key, values...)
}

func (l *line) getsTimed(ttl time.Duration, key string, values ...uint64) []Increase {
	l.t.Helper()
	l.now = l.now.Add(20 * time.Millisecond)
	l.Round(l.now, 28)
	as16 := netip.MustParseAddr(key).As16()
	u := &Update{Table: counts, Key: as16[:], Numbers: append([]uint64{0}, values...)}
	if ttl >= 0 {
		u.Timed, u.TTL = true, ttl
	}
	return l.Add(u, nil)
}

func (l *line) adds(want []uint32, key string, values ...uint64) {
	l.t.Helper()
	got := make([]uint32, columns)
	for _, one := range l.gets(key, values...) {
		got[one.Column] += one.N
	}
	if !slices.Equal(got, want) {
		l.t.Errorf("%s %v adds %v, want %v", key, values, got, want)
	}
}

const a, b = "192.0.2.1", "2001:db8:1:2::"

func TestIncreases(t *testing.T) {
	l := know(t, NewTally(10))
	l.adds([]uint32{1, 0}, a, 1, 0)
	l.adds([]uint32{2, 1}, b, 2, 1)
	l.adds([]uint32{0, 0}, a, 1, 0)
	l.adds([]uint32{4, 2}, a, 5, 2)
	l.adds([]uint32{0, 9}, b, 2, 10)
	l.later(handover)
	l.adds([]uint32{2, 1}, a, 2, 1) // HAProxy forgot the key: all is new
	l.adds([]uint32{1, 5}, b, 1, 5)
}

// The time of an increase is that of the read before it.
func TestTime(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	l.now = l.now.Add(lingers)
	l.gets(a, 1, 0)
	l.gets(b, 1, 0)
	for range 60 {
		l.gets(a, 1, 0)
	}
	at := l.now
	if got := l.gets(a, 2, 0); len(got) != 1 || !got[0].At.Equal(at) {
		t.Errorf("%+v, want the time %v", got, at)
	}
	at = l.now
	l.now = l.now.Add(time.Hour) // nothing was read
	if got := l.gets(a, 400, 0); len(got) != 1 || !got[0].At.Equal(at) || got[0].N != 398 {
		t.Errorf("after an hour: %+v, want 398 of %v", got, at)
	}
	if got := l.gets(b, 300, 0); len(got) != 1 || !got[0].At.Equal(at) {
		t.Errorf("at the end of the hour: %+v, want the time %v", got, at)
	}
	for range 600 { // HAProxy has caught up
		l.gets(a, 400, 0)
	}
	if got := l.gets(a, 401, 0); len(got) != 1 || l.now.Sub(got[0].At) > 20*time.Millisecond {
		t.Errorf("at %v: %+v", l.now, got)
	}
}

// 400 requests in 5 minutes, and an hour away: by connection, or with a state.
func TestAnHourAwayCountsNothingInTheWindow(t *testing.T) {
	for name, back := range map[string]func(*Tally) *Tally{
		"a lost connection": func(t *Tally) *Tally { return t },
		"a restart": func(one *Tally) *Tally {
			again, err := ReadTally(one.Append(nil, 0), 10)
			if err != nil {
				t.Fatal(err)
			}
			return again
		},
	} {
		tally := NewTally(10)
		l := know(t, tally)
		l.adds([]uint32{300, 0}, a, 300, 0)
		left := l.now
		l = noon(t, back(tally), 1, l.now.Add(time.Hour))
		got := l.getsTimed(counts.Expire, a, 5100, 0)
		if len(got) != 1 || got[0].N != 4800 || got[0].At.After(left) {
			t.Errorf("%s: %+v, want 4800 not after %v", name, got, left)
		}
	}
}

func TestFirstSightIsABaseline(t *testing.T) {
	tally := NewTally(10)
	l := noon(t, tally, 1, tallyNoon)
	for _, v := range []uint64{1000, 1003, 5000} { // the last is inherited, perhaps
		l.adds([]uint32{0, 0}, a, v, 0)
	}
	l.Resynced(false)
	l.adds([]uint32{0, 0}, b, 10, 0)
	if l.AskResync(tallyNoon.Add(soon - 1)) {
		t.Error("a resync is asked for again too early")
	}
	if !l.AskResync(l.now.Add(soon)) || l.AskResync(l.now.Add(soon)) {
		t.Error("a resync that was not whole is not asked for once again")
	}
	l.adds([]uint32{0, 0}, a, 5001, 0)
	if l.Resynced(true) {
		t.Error("all keys are known, and some may have been inherited in the middle of the resync")
	}
	l.adds([]uint32{0, 0}, "192.0.2.77", 70, 0)
	if !l.AskResync(l.now.Add(again)) {
		t.Error("another resync is not asked for at once")
	}
	if !l.Resynced(true) {
		t.Error("not all keys are known")
	}
	if l.AskResync(l.now.Add(time.Hour)) {
		t.Error("a resync is asked for without a reason")
	}
	l.adds([]uint32{1, 1}, a, 5002, 1)
	l.adds([]uint32{2, 0}, "192.0.2.9", 2, 0)
	if got := tally.Stats("ha1"); got.Baseline != 5081 || got.Keys != 4 {
		t.Errorf("%+v, want a baseline of 5081 and 4 keys", got)
	}
}

// The new process begins at 0, and has what the old one counted some time later.
func TestReload(t *testing.T) {
	tally := NewTally(10)
	old := know(t, tally)
	old.adds([]uint32{500, 10}, a, 500, 10)
	old.adds([]uint32{3, 0}, b, 3, 0)
	old.later(handover)
	heir := noon(t, tally, 2, old.now)
	old.adds([]uint32{0, 0}, a, 501, 10) // the heir will have it
	heir.adds([]uint32{4, 1}, a, 4, 1)
	heir.adds([]uint32{1, 0}, a, 5, 1)
	heir.adds([]uint32{10, 0}, a, 510, 10) // the 5 before are overwritten, not in it
	heir.adds([]uint32{1, 0}, a, 511, 10)
	heir.adds([]uint32{1, 0}, b, 1, 0)
	heir.adds([]uint32{1, 0}, b, 2, 0)
	heir.adds([]uint32{0, 0}, b, 3, 0) // inherited, or counted
	heir.adds([]uint32{1, 0}, b, 4, 0)
	heir.adds([]uint32{0, 0}, b, 3, 0) // inherited now
	heir.adds([]uint32{1, 0}, b, 4, 0)
}

// What a process inherits while nothing is read is not counted again, however long that
// takes.
func TestHandoverThatNobodyRead(t *testing.T) {
	tally := NewTally(10)
	old := know(t, tally)
	old.adds([]uint32{9, 5}, a, 9, 5)
	old.later(handover)
	heir := noon(t, tally, 2, old.now)
	heir.adds([]uint32{2, 0}, a, 2, 0)
	again := noon(t, tally, 2, heir.now.Add(2*handover))
	again.adds([]uint32{25, 13}, a, 34, 18) // 9 and 5 were inherited, and 2 overwritten
}

// A process that connects again teaches nothing that it had not taught: what it counts
// then is not taken for older than the gap.
func TestSameProcessAgain(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	l.later(handover)
	for range 10 { // each within the time of a handover
		left := l.now
		l = noon(t, tally, 1, left.Add(time.Minute))
		l.Resynced(true)
		l.later(time.Second)
		if got := l.gets(b, uint64(l.now.Sub(tallyNoon).Seconds()), 0); len(got) != 1 || got[0].At.Before(left) {
			t.Fatalf("%+v, want nothing before %v", got, left)
		}
	}
}

// What a process inherits while edgeguard is restarted is as old as the handover, also when the
// one before has ended by then; what it counts later is new, also after another restart.
func TestRestartInAHandover(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	l.adds([]uint32{1, 0}, a, 1, 0)
	handed := l.now
	l = noon(t, tally, 2, l.now.Add(20*time.Millisecond))
	l.Resynced(false)
	l.later(time.Second)
	l.gets(a, 2, 0)
	restart := func() {
		again, err := ReadTally(tally.Append(nil, 0), 10)
		if err != nil {
			t.Fatal(err)
		}
		tally = again
		l = noon(t, tally, 2, l.now.Add(lingers))
		l.Resynced(false)
		l.later(time.Second)
	}
	restart()
	if got := l.gets(a, 8, 0); len(got) != 1 || got[0].N != 6 || got[0].At.After(handed) {
		t.Errorf("%+v, want 6 not after %v: the process before may have counted them", got, handed)
	}
	restart()
	if got := l.gets(a, 9, 0); len(got) != 1 || l.now.Sub(got[0].At) > 2*time.Second {
		t.Errorf("at %v: %+v, want 1 of now", l.now, got)
	}
}

// A process that was reloaded before its keys were known may teach them minutes later: what was
// seen of them is not new then.
func TestReloadBeforeTheBaseline(t *testing.T) {
	tally := NewTally(10)
	l := noon(t, tally, 1, tallyNoon)
	l.adds([]uint32{0, 0}, a, 45, 3)
	l = noon(t, tally, 2, l.now)
	l.adds([]uint32{0, 0}, a, 1, 0)
	l.adds([]uint32{0, 0}, b, 1, 0)
	l.later(10 * time.Second) // HAProxy has waited for long enough
	l.Resynced(true)
	if !l.AskResync(l.now) || !l.Resynced(true) {
		t.Error("the second of two resyncs does not show all keys")
	}
	l.adds([]uint32{1, 1}, a, 2, 1)
	l.adds([]uint32{1, 0}, b, 2, 0)
	l.adds([]uint32{1, 0}, a, 46, 3)
	l.adds([]uint32{2, 1}, a, 48, 4)
}

// A process that says soon after it began that it is up to date has learned all that the one
// before had. What it counts from then on is as old as the read before, also in the second of
// two reloads; and a key that it does not have begins at 0.
func TestReloadThatHAProxyEnds(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	l.adds([]uint32{5, 0}, a, 5, 0)
	l.adds([]uint32{3, 0}, b, 3, 0)
	l.later(time.Minute)
	for pid := 2; pid < 5; pid++ {
		left := l.now
		l.now = l.now.Add(50 * time.Millisecond)
		l = noon(t, tally, pid, l.now)
		if got := l.gets(a, uint64(pid+4), 0); len(got) != 1 || got[0].N != 1 || !got[0].At.Equal(left) {
			t.Errorf("process %d: %+v, want 1 of %v: the one before may have counted it", pid, got, left)
		}
		l.Resynced(true)
		if !l.AskResync(l.now) || !l.Resynced(true) {
			t.Error("the second of two resyncs does not show all keys")
		}
		l.later(time.Second)
		before := l.now
		if got := l.gets("192.0.2."+strconv.Itoa(pid), 7, 0); len(got) != 1 || got[0].N != 7 || !got[0].At.Equal(before) {
			t.Errorf("process %d: %+v, want 7 of %v", pid, got, before)
		}
		l.later(time.Minute)
	}
	l.adds([]uint32{4, 0}, b, 4, 0)
}

// A process that was reloaded before it said that it is up to date may teach later, and so may
// the one before: nothing tells which of them has. What was counted meanwhile is older than
// what is read by no more than the oldest of them runs.
func TestReloadsThatHAProxyDoesNotEnd(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	l.adds([]uint32{1, 0}, a, 1, 0)
	for pid := range 600 {
		l.later(time.Second)
		l = noon(t, tally, pid+2, l.now)
		l.Resynced(false)
	}
	for range 2 {
		l.Resynced(true)
	}
	if !tally.sources["ha1"].inHandover() {
		t.Error("one of several processes has taught, and the others are taken for ended")
	}
	l.adds([]uint32{1, 0}, b, 1, 0)
	got := l.gets(b, 1000, 0)
	if len(got) != 1 || got[0].N != 999 || l.now.Sub(got[0].At) < lingers-time.Second || l.now.Sub(got[0].At) > lingers+2*time.Second {
		t.Errorf("at %v: %+v, want 999 of the time at which the oldest that may run was told to end", l.now, got)
	}
}

// Each of many reloads loses at most what the heir counted before it inherited.
func TestManyReloads(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	requests, counted, value := 0, 0, uint64(0)
	request := func(v uint64) {
		requests++
		for _, one := range l.gets(a, v, 0) {
			counted += int(one.N)
		}
	}
	for pid := range 10 {
		for range 1000 {
			value++
			request(value)
		}
		l = noon(t, tally, pid+2, l.now)
		for fresh := range uint64(5) {
			request(fresh + 1)
		}
	}
	if counted > requests || requests-counted > 50 {
		t.Errorf("%d of %d requests counted", counted, requests)
	}
}

func TestTwoOfOneName(t *testing.T) {
	tally := NewTally(10)
	first := know(t, tally)
	second := noon(t, tally, 2, first.now)
	first = noon(t, tally, 1, first.now)
	if !first.Doubled() || second.Doubled() {
		t.Fatal("that the first process came back is not noticed")
	}
	first.adds([]uint32{0, 0}, a, 100, 0)
	if first.AskResync(tallyNoon.Add(time.Hour)) {
		t.Error("a session that is not counted asks for a resync")
	}
	if one := noon(t, tally, 2, first.now); one.Doubled() {
		t.Error("a process that connects again is taken for another")
	}
	if one := noon(t, tally, 1, first.now.Add(handover+time.Second)); one.Doubled() {
		t.Error("a process is remembered for longer than a handover")
	}
}

// A wide jump adds at most what a slot holds, and a value that wraps adds what is left.
func TestBounds(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	l.adds([]uint32{most, 0}, a, 1<<31, 0)
	if got := tally.Stats("ha1").Clipped; got != 1<<31-most {
		t.Errorf("%d clipped", got)
	}
	l.adds([]uint32{most, most}, a, math.MaxUint64, 1<<32-1)
	l.later(handover)
	l.adds([]uint32{4, 5}, a, 4, 5) // wrapped, or forgotten by HAProxy
	for i := range 2 * mostSources {
		tally.Begin(string(rune('A'+i)), 1, tallyNoon.Add(time.Duration(i)))
	}
	if len(tally.sources) != mostSources {
		t.Errorf("%d HAProxies", len(tally.sources))
	}
	for i := range 2 * tablesOfOne {
		other := *counts
		other.Name = string(rune('A' + i))
		l = know(t, tally)
		l.Define(&other)
	}
	if n := len(tally.sources["ha1"].tables); n > tablesOfOne {
		t.Errorf("%d tables", n)
	}
}

// Who may speak as HAProxy may do so under many names, each with its own tables. All of
// them together have a bound; each has some room, and one that is silent gives back its own.
func TestManyNames(t *testing.T) {
	const keys = 4 * leastKeys
	tally := NewTally(keys)
	fill := func(name string, now time.Time) *Session {
		s := tally.Begin(name, 1, now)
		s.Define(counts)
		s.Round(now, 2)
		s.Resynced(true)
		s.Resynced(true)
		u := &Update{Table: counts, Key: make([]byte, 16), Numbers: make([]uint64, 1+columns)}
		for i := range keys + 1 {
			binary.BigEndian.PutUint32(u.Key, uint32(i))
			s.Add(u, nil)
		}
		return s
	}
	for i := range mostSources {
		fill(string(rune('A'+i)), tallyNoon)
	}
	all := 0
	for i := range mostSources {
		n := tally.Stats(string(rune('A' + i))).Keys
		if n < leastKeys {
			t.Errorf("HAProxy %d has room for %d keys", i, n)
		}
		all += n
	}
	if most := together*keys + mostSources*leastKeys; all > most {
		t.Errorf("%d keys of %d names, want at most %d", all, mostSources, most)
	}
	if _, err := ReadTally(tally.Append(nil, 0), keys); err != nil {
		t.Error(err)
	}
	fill("real", tallyNoon.Add(handover))
	if n := tally.Stats("real").Keys; n != keys {
		t.Errorf("after the others are silent, one has %d keys", n)
	}
	if left := tally.space.left.Load(); left > together*keys {
		t.Errorf("room for %d keys", left)
	}
}

// A key that was dropped for room counts what is more than before, until a resync has
// shown that HAProxy does not have it either.
func TestDroppedKeys(t *testing.T) {
	tally := NewTally(2)
	l := know(t, tally)
	l.adds([]uint32{300, 7}, a, 300, 7)
	l.adds([]uint32{1, 0}, b, 1, 0)
	l.adds([]uint32{1, 0}, "192.0.2.3", 1, 0)
	l.adds([]uint32{0, 0}, a, 300, 7) // a long stream has ended
	l.adds([]uint32{2, 0}, a, 302, 7)
	if got := tally.Stats("ha1"); got.Dropped != 2 || got.Keys != 2 {
		t.Errorf("%+v, want 2 keys and 2 dropped", got)
	}
	l.adds([]uint32{1, 0}, "192.0.2.4", 1, 0)
	l.adds([]uint32{1, 0}, "192.0.2.5", 1, 0)
	if l.AskResync(l.now.Add(refresh-time.Minute)) || !l.AskResync(l.now.Add(refresh)) {
		t.Error("a resync is not asked for in time")
	}
	l.Resynced(true)
	l.later(handover)
	l.adds([]uint32{5, 1}, a, 5, 1)
}

func TestAddAllocatesNothing(t *testing.T) {
	l := know(t, NewTally(10))
	as16 := netip.MustParseAddr(a).As16()
	u := &Update{Table: counts, Key: as16[:], Numbers: make([]uint64, 3)}
	into := make([]Increase, 0, 10)
	if n := testing.AllocsPerRun(100, func() {
		u.Numbers[1]++
		if into = l.Add(u, into[:0]); len(into) != 1 {
			t.Fatal(into)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(bench *testing.B) {
	s := NewTally(100_000).Begin("ha1", 1, tallyNoon)
	s.Define(counts)
	s.Resynced(true)
	s.Resynced(true)
	u := &Update{Table: counts, Key: make([]byte, 16), Numbers: make([]uint64, 3)}
	var into []Increase
	for i := 0; bench.Loop(); i++ {
		binary.BigEndian.PutUint32(u.Key, uint32(i%100_000)*2654435761)
		u.Numbers[1] = uint64(i)
		into = s.Add(u, into[:0])
	}
}

func TestState(t *testing.T) {
	tally := NewTally(10)
	l := know(t, tally)
	l.adds([]uint32{7, 1}, a, 7, 1)
	l.adds([]uint32{3, 0}, b, 3, 0)
	state := tally.Append([]byte("before"), 0)[len("before"):]
	again, err := ReadTally(state, 10)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Append(nil, 0), state) {
		t.Error("a state is written otherwise after it was read")
	}
	late, err := ReadTally(tally.Append(nil, time.Hour), 10)
	if err != nil || !late.sources["ha1"].upTo.Equal(l.now.Add(time.Hour).Truncate(time.Millisecond)) {
		t.Errorf("an hour ahead: %v, %v", late.sources["ha1"].upTo, err)
	}
	few, err := ReadTally(state, 1)
	if err != nil {
		t.Fatal(err)
	}
	l = noon(t, few, 1, l.now)
	l.adds([]uint32{0, 0}, b, 4, 0) // which keys are missing is not known: all is a baseline again
	for cut := range state {
		if _, err := ReadTally(state[:cut], 10); err == nil {
			t.Errorf("the first %d bytes of a state are read", cut)
		}
		damaged := bytes.Clone(state)
		damaged[cut] ^= 1
		if _, err := ReadTally(damaged, 10); err == nil {
			t.Errorf("a state with another byte %d is read", cut)
		}
	}
}

func FuzzRead(f *testing.F) {
	tally := NewTally(10)
	var t0 testing.T
	l := know(&t0, tally)
	l.gets(a, 7, 1)
	l.gets(b, 3, 0)
	noon(&t0, tally, 2, l.now).gets(a, 1, 0)
	state := tally.Append(nil, 0)
	f.Add(state[len(stateHead) : len(state)-crc32.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		b := append([]byte(stateHead), body...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
		read, err := ReadTally(b, 10)
		if err != nil {
			return
		}
		again, err := ReadTally(read.Append(nil, 0), 10)
		if err != nil || !bytes.Equal(again.Append(nil, 0), read.Append(nil, 0)) {
			t.Errorf("%x is not read again: %v", b, err)
		}
		l := noon(t, read, 1, tallyNoon)
		for i := range uint64(20) {
			l.gets(netip.AddrFrom4([4]byte{byte(i)}).String(), i, 1)
		}
	})
}

// The state of a HAProxy whose hello has the most that it may have can be read.
func TestStateOfTheLongestHello(t *testing.T) {
	tally := NewTally(10)
	tally.Begin(strings.Repeat("\xff", maxName), math.MaxInt32, tallyNoon)
	if _, err := ReadTally(tally.Append(nil, 0), 10); err != nil {
		t.Error(err)
	}
}
