package neighbours

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"edgeguard/blocklist/imported"
	"edgeguard/internal/safetext"
	"edgeguard/snapshot"
)

// fileName is that of the decisions in the folder of the state.
const fileName = "node.crowdsec"

// saveEvery is how often they are written while they change.
const saveEvery = 5 * time.Minute

// decisionsFile keeps the decisions over a restart: while no LAPI answers, they are in force until their
// ends. It is used by one service at a time.
type decisionsFile struct {
	deps    CrowdSecDeps
	path    string // empty: they are not kept
	once    sync.Once
	changed bool
	saved   time.Time
}

// load puts back what was saved, once.
func (f *decisionsFile) load() {
	f.once.Do(func() {
		if f.path == "" {
			return
		}
		now := f.deps.Clock.Now()
		var all []imported.Entry
		err := snapshot.LoadNotes(f.path, f.deps.Clock.Epoch(now), func(note []byte) {
			if e, ok := parse(string(note)); ok {
				e.Until = f.deps.Clock.Local(e.Until)
				all = append(all, e)
			}
		})
		switch {
		case err != nil:
			f.deps.Log.Warn("the decisions of CrowdSec that were kept cannot be used", "file", f.path, "error", err)
		case len(all) > 0:
			out := f.deps.Set.Replace(crowdSecSource, all, now)
			f.deps.Log.Info("decisions of CrowdSec were kept", "held", out.InForce)
		}
	})
}

// saveSometimes writes them if they have changed, now and then.
func (f *decisionsFile) saveSometimes(now time.Time) {
	if f.saved.IsZero() || now.Sub(f.saved) >= saveEvery {
		f.save()
	}
}

// save writes them if they have changed.
func (f *decisionsFile) save() {
	if f.path == "" || !f.changed {
		return
	}
	now := f.deps.Clock.Now()
	err := snapshot.SaveNotes(f.path, snapshot.Cut{Node: f.deps.Node, Taken: now, Offset: f.deps.Clock.Offset()}, func(yield func([]byte) bool) {
		var note []byte
		for _, e := range f.deps.Set.Entries(crowdSecSource) {
			note = f.text(note[:0], &e)
			if !yield(note) {
				return
			}
		}
	})
	f.changed, f.saved = err != nil, now // what could not be written is tried again
	if err != nil {
		f.deps.Log.Warn("the decisions of CrowdSec cannot be kept", "file", f.path, "error", err)
	}
}

// text appends an entry: its end in seconds since 1970, its prefix and its reason.
func (f *decisionsFile) text(b []byte, e *imported.Entry) []byte {
	b = strconv.AppendInt(b, f.deps.Clock.Epoch(e.Until).Unix(), 10)
	b = append(b, ' ')
	b = e.Prefix.AppendTo(b)
	b = append(b, ' ')
	return append(b, e.Reason...)
}

// parse reads what text wrote. What the prefix may be is checked by the set.
func parse(note string) (e imported.Entry, ok bool) {
	end, rest, _ := strings.Cut(note, " ")
	prefix, reason, _ := strings.Cut(rest, " ")
	seconds, err := strconv.ParseInt(end, 10, 64)
	if err != nil {
		return e, false
	}
	e.Prefix, err = netip.ParsePrefix(prefix)
	e.Until, e.Reason = time.Unix(seconds, 0).UTC(), safetext.Strip(reason)
	return e, err == nil
}
