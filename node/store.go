package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/aggregator/quarantine"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/detector"
	"edgeguard/internal/filelock"
	"edgeguard/internal/sleep"
	"edgeguard/node/alarm"
	"edgeguard/node/evidence"
	"edgeguard/node/pipeline"
	"edgeguard/ring"
	"edgeguard/sensor/accesslog"
	"edgeguard/snapshot"
	"edgeguard/tuning"
)

const (
	// saveEvery is what a killed node loses of its counts at most.
	saveEvery = time.Minute
	// A changed blocklist is saved sooner: after a second, and so that saving
	// takes no more than a twentieth of the time.
	saveSoon  = time.Second
	saveShare = 20
	stateName = "node.state"
	// forgeableMark ends the name under which a meter's counts of forgeable
	// evidence are saved, apart from the proven.
	forgeableMark = "/forgeable"
	// maxPlace is the room that a snapshot has for one log's position.
	maxPlace = 4 << 10
)

// store keeps the node's state on disk: counts, blocks and positions in logs.
// Safe for concurrent use.
type store struct {
	path       string // empty: nothing is kept
	pipeline   *pipeline.Pipeline
	list       *blocklist.List
	quarantine *quarantine.Quarantine
	evidence   snapshot.SideFile[*evidence.Kept]
	history    snapshot.SideFile[*tuning.History]
	doors      snapshot.SideFile[*pipeline.Pipeline]
	day        snapshot.SideFile[*watch.Rates]
	replaced   snapshot.SideFile[*blocklist.List]
	tally      keptTally
	positions  *positions
	clock      *clockguard.Clock
	alarms     *alarm.Tracker
	log        *slog.Logger

	cut            sync.RWMutex   // held for reading while log lines or counters are decided and their position moves on, closed by a snapshot
	saving         sync.Mutex     // held while a snapshot is written; guards lock, but at the start and the end
	lock           *filelock.Lock // of the folder; nil where it could not be had
	aside          []string       // the conditions of checkAside, housekeeping's
	patience       time.Duration  // with another node that has it
	saves, failed  atomic.Uint64
	bytes, success atomic.Int64
	changed        chan struct{} // holds one while something waits to be saved
}

// in sets the folder of the state; empty for none.
func (s *store) in(folder string) *store {
	s.changed, s.patience = make(chan struct{}, 1), lockPatience
	if folder != "" {
		s.path = filepath.Join(folder, stateName)
	}
	return s
}

// inState returns the path of a file in the folder of the state; empty without one.
func inState(folder, name string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, name)
}

// restore loads the state of the last run. A file that cannot be used is
// renamed, with an alarm, and the node starts without it: nil.
func (s *store) restore() *snapshot.Loaded {
	if s.path == "" {
		return nil
	}
	now := s.clock.Now()
	for _, side := range s.beside() {
		if err := side.Load(now); err != nil {
			s.alarms.Happened(now, alarm.State, side.File(), err.Error())
		}
	}
	var steps []detector.Step
	var blocks []snapshot.Block
	var held []quarantine.Held // or a restart would put them in force: without requests nothing would be too much
	var counters []byte
	loaded, err := snapshot.LoadFile(s.path, now, snapshot.Sink{
		Meter: s.refill,
		Block: func(b *snapshot.Block) {
			if b.Held {
				held = append(held, quarantine.Held{Block: b.Block, Share: b.Share, At: b.At, Trust: trustOfSaved(b)})
			} else {
				blocks = append(blocks, *b)
			}
		},
		Step:     func(one snapshot.Step) { steps = append(steps, detector.Step(one)) },
		Position: s.resume,
		Note:     func(piece []byte) { counters = append(counters, piece...) },
	})
	if err != nil {
		s.beginAnew(now, err)
		return nil
	}
	if err := s.tally.restore(counters); err != nil {
		s.alarms.Happened(now, alarm.State, s.path, err.Error())
	}
	refused := s.list.Restore(func(yield func(edgeguard.Block, blocklist.Trust) bool) {
		for i := range blocks {
			if !yield(blocks[i].Block, trustOfSaved(&blocks[i])) {
				return
			}
		}
	}, now)
	s.quarantine.Restore(now, held, charged(blocks))
	s.pipeline.Current().Detector.RestoreSteps(now, steps)
	s.log.Info("state restored", "taken", loaded.Taken.UTC().Format(time.RFC3339), "keys", loaded.Windows,
		"blocks", s.list.Len(), "refused", refused, "logs", loaded.Positions)
	return &loaded
}

// beginAnew begins without a state that is not there or cannot be used. Then no block stands where another was replaced.
func (s *store) beginAnew(now time.Time, err error) {
	s.list.Restore(func(func(edgeguard.Block, blocklist.Trust) bool) {}, now)
	if errors.Is(err, fs.ErrNotExist) {
		s.log.Info("no state yet: counting begins at 0", "file", s.path)
		return
	}
	s.alarms.Happened(now, alarm.State, s.path, err.Error())
}

// beside returns the files beside the state.
func (s *store) beside() []anySide {
	return []anySide{&s.evidence, &s.history, &s.doors, &s.day, &s.replaced}
}

// anySide is a [snapshot.SideFile] of anything.
type anySide interface {
	File() string
	Load(now time.Time) error
	Save(snapshot.Cut) error
}

// checkAside makes a condition of each file of the state that could not be used, until it is
// removed or old: what it had is lost until somebody looks, whatever is saved since.
func (s *store) checkAside(now time.Time) {
	if s.path == "" {
		return
	}
	var named []string
	for _, a := range snapshot.Asides(filepath.Dir(s.path), s.clock.Epoch(now)) {
		s.alarms.Begins(now, alarm.State, a.Path, a.String())
		named = append(named, a.Path)
	}
	for _, before := range s.aside {
		if !slices.Contains(named, before) {
			s.alarms.Recovers(alarm.State, before)
		}
	}
	s.aside = named
}

// refill returns what puts a meter's windows back into its table; nil where no
// rule counts by it any more.
func (s *store) refill(m snapshot.Meter) func(*snapshot.Window) {
	for _, t := range s.pipeline.Current().Detector.Tables() {
		if savedName(&t) == m.Fingerprint && t.Meter.Width == m.Width {
			return func(w *snapshot.Window) { t.Restore(w.Prefix, w.With, w.Head, &w.Counts) }
		}
	}
	return nil
}

// savedName returns the name of a table in the state file. A version skips the
// names that it does not know.
func savedName(t *detector.Table) string {
	switch {
	case t.Forgeable:
		return t.Meter.Fingerprint + forgeableMark
	case t.Wide > 0:
		return fmt.Sprintf("%s/%d", t.Meter.Fingerprint, t.Wide)
	}
	return t.Meter.Fingerprint
}

// resume stores how far a log was read.
func (s *store) resume(p snapshot.Position) {
	var at accesslog.Position
	if err := json.Unmarshal(p.Place, &at); err != nil {
		s.log.Warn("the saved position of a log is invalid: it is followed from its end", "log", p.Source, "error", err)
		return
	}
	s.positions.restore(p.Source, at)
}

// saveFirstPositions saves where logs begin that were never followed before, so
// that a node that is killed after it was ready goes on from there. It does not
// wait for a log that cannot be opened: its position is saved later.
func (s *store) saveFirstPositions(ctx context.Context) {
	if s.path == "" {
		return
	}
	deadline, cancel := context.WithTimeout(ctx, saveSoon)
	defer cancel()
	for !s.positions.known() && s.wait(deadline, saveSoon) {
	}
	s.save()
}

// touch has the state saved soon, because a block changed or a log has its first
// position. It never waits.
func (s *store) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// run saves the state once a minute, and soon after a touch.
func (s *store) run(ctx context.Context) {
	for s.path != "" {
		begun := time.Now()
		s.save()
		rest := max(saveSoon, saveShare*time.Since(begun))
		if !sleep.For(ctx, rest) || !s.wait(ctx, saveEvery-rest) {
			return
		}
	}
}

// wait waits for a change, but no longer than d, and reports whether to go on.
func (s *store) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.changed:
	case <-ctx.Done():
		return false
	}
	return true
}

// save writes a snapshot, and returns its checksum; 0 without one. A failure is
// an alarm that is active until a save succeeds.
func (s *store) save() (sum uint64) {
	if s.path == "" {
		return 0
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	err := s.claim(context.Background(), 0) // it could not be had at the start
	if err == nil {
		sum, err = s.write()
	}
	if err != nil {
		s.failed.Add(1)
		s.alarms.Begins(s.clock.Now(), alarm.State, filepath.Dir(s.path),
			"the state was not saved; a restart would use the last saved one: "+err.Error())
		return 0
	}
	s.saves.Add(1)
	s.success.Store(s.clock.Now().UnixNano())
	if info, err := os.Stat(s.path); err == nil {
		s.bytes.Store(info.Size())
	}
	s.alarms.Recovers(alarm.State, filepath.Dir(s.path))
	return sum
}

func (s *store) write() (sum uint64, err error) {
	now := s.clock.Now()
	g := s.pipeline.Current()
	cut := snapshot.Cut{Node: g.Config.Node, Taken: now, Offset: s.clock.Offset()}
	var beside error
	for _, side := range s.beside() { // before the blocks that the evidence is about
		beside = errors.Join(beside, side.Save(cut))
	}
	w, err := snapshot.Create(s.path, cut)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	s.writeCut(w, g.Detector, cut)
	s.tally.write(w)
	err = w.Commit() // before its sum
	return w.Checksum(), errors.Join(err, beside)
}

// writeCut writes the records. No log line and nothing that a HAProxy counted is decided
// during that time: a position or a counter, and the counts of what was before it, are
// of one moment. Forward auth, whose requests come only once, is not held up.
func (s *store) writeCut(w *snapshot.Writer, d *detector.Detector, cut snapshot.Cut) {
	held := s.quarantine.HeldRecords() // sorted before the logs are held up
	s.cut.Lock()
	defer s.cut.Unlock()
	s.tally.cut(cut.Offset)
	for _, t := range d.Tables() {
		writeTable(w, &t)
	}
	for b, t := range s.list.Records() {
		one := blockToSave(b, t)
		if t.Elsewhere {
			one.Share = min(1, s.quarantine.ChargedShare(b.Prefix))
		}
		w.Block(one)
	}
	for _, one := range held {
		b := blockToSave(one.Block, one.Trust)
		b.Held, b.Share, b.At = true, one.Share, one.At
		w.Block(b)
	}
	for one := range d.Steps() {
		w.WriteStep(snapshot.Step(one))
	}
	for file, at := range s.positions.all() {
		if place, err := placeOf(at); err == nil {
			w.Position(snapshot.Position{Source: file, Place: place})
		}
	}
}

// writeTable leaves out what counts different values: a window does not say which they were,
// and a node that starts would count them twice.
func writeTable(w *snapshot.Writer, t *detector.Table) {
	if t.Meter.Distinct != 0 {
		return
	}
	w.Meter(snapshot.Meter{Fingerprint: savedName(t), Width: t.Meter.Width})
	t.Windows(func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool {
		w.Window(&snapshot.Window{Prefix: prefix, With: with, Head: head, Counts: *counts})
		return true
	})
}

// placeOf encodes a position. If it is too long, it leaves out the oldest files:
// they were read, and are kept for late lines only.
func placeOf(at accesslog.Position) ([]byte, error) {
	for {
		place, err := json.Marshal(at)
		if err != nil || len(place) <= maxPlace {
			return place, err
		}
		if len(at.Files) == 0 {
			return nil, fmt.Errorf("the position is %d bytes long", len(place))
		}
		at.Files = at.Files[1:]
	}
}

// figures returns how saving went; nil where no state is kept.
func (s *store) figures() *admin.Snapshot {
	if s.path == "" {
		return nil
	}
	out := &admin.Snapshot{Written: s.saves.Load(), Failures: s.failed.Load(), Bytes: s.bytes.Load()}
	if at := s.success.Load(); at != 0 {
		out.Success = s.clock.Epoch(time.Unix(0, at))
	}
	return out
}
