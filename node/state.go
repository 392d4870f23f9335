package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator/quarantine"
	"edgeguard/detector"
	"edgeguard/ring"
	"edgeguard/sensor/accesslog"
	"edgeguard/snapshot"
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

// state is the node's memory on disk.
type state struct {
	path           string     // empty: none
	saving         sync.Mutex // one snapshot is written at a time
	saves, failed  atomic.Uint64
	bytes, success atomic.Int64
	// changed holds one while something waits to be saved.
	changed chan struct{}
}

func newState(folder string) *state {
	s := &state{changed: make(chan struct{}, 1)}
	if folder != "" {
		s.path = filepath.Join(folder, stateName)
	}
	return s
}

// restore goes on where the last run stopped. What cannot be used is set
// aside, with a message, and the node starts without it.
func (n *Node) restore() {
	if n.state.path == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(n.state.path), 0o750); err != nil {
		n.alarms.begins(n.clock.Now(), alarmState, n.state.path, "the state cannot be kept: "+err.Error())
		return
	}
	now := n.clock.Now()
	var steps []detector.Step
	var blocks []snapshot.Block
	var held []quarantine.Held // or a restart would put them in force: a node that has seen no requests yet takes what the fleet has
	loaded, err := snapshot.Load(n.state.path, now, snapshot.Sink{
		Meter: n.refill,
		Block: func(b *snapshot.Block) {
			if b.Held {
				held = append(held, quarantine.Held{Block: b.Block, Share: b.Share, At: b.At})
			} else {
				blocks = append(blocks, *b)
			}
		},
		Step:     func(s snapshot.Step) { steps = append(steps, detector.Step(s)) },
		Position: n.resume,
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.log.Info("no state yet: counting begins at 0", "file", n.state.path)
		return
	case err != nil:
		n.alarms.happened(now, alarmState, n.state.path, err.Error())
		return
	}
	refused := n.list.Restore(func(yield func(edgeguard.Block, bool) bool) {
		for i := range blocks {
			if !yield(blocks[i].Block, blocks[i].Forced) {
				return
			}
		}
	}, now)
	n.hold.Restore(now, held)
	n.pipeline.Current().Detector.RestoreSteps(now, steps)
	if m := n.pipeline.Current().Member; m != nil {
		m.Totals.Restored(now)
	}
	n.log.Info("state restored", "taken", loaded.Taken.UTC().Format(time.RFC3339), "keys", loaded.Windows,
		"blocks", n.list.Len(), "refused", refused, "logs", loaded.Positions)
}

// refill gives what puts a meter's windows back into its table; nil where no
// rule counts by it any more.
func (n *Node) refill(m snapshot.Meter) func(*snapshot.Window) {
	for _, t := range n.pipeline.Current().Detector.Tables() {
		if savedName(&t) == m.Fingerprint && t.Meter.Width == m.Width {
			return func(w *snapshot.Window) { t.Restore(w.Prefix, w.With, w.Head, &w.Counts) }
		}
	}
	return nil
}

// savedName tells a meter's tables apart: what a version does not know by name
// it leaves out.
func savedName(t *detector.Table) string {
	switch {
	case t.Forgeable:
		return t.Meter.Fingerprint + forgeableMark
	case t.Wide > 0:
		return fmt.Sprintf("%s/%d", t.Meter.Fingerprint, t.Wide)
	}
	return t.Meter.Fingerprint
}

// resume takes in how far a log was read.
func (n *Node) resume(p snapshot.Position) {
	var at accesslog.Position
	if err := json.Unmarshal(p.Place, &at); err != nil {
		n.log.Warn("the position in a log does not parse: it is followed from its end", "log", p.Source, "error", err)
		return
	}
	n.positions.set(p.Source, at)
}

// saveFirstPlaces saves where the logs begin that were never followed before,
// so that a node that was once ready and is then killed goes on from there. A
// log that cannot be looked at is not waited for: its place is saved once it
// can.
func (n *Node) saveFirstPlaces(ctx context.Context) {
	if n.state.path == "" || n.placed() {
		return
	}
	deadline, cancel := context.WithTimeout(ctx, saveSoon)
	defer cancel()
	for !n.placed() && n.state.wait(deadline, saveSoon) {
	}
	n.save()
}

// placed reports whether every followed log has a place to go on from.
func (n *Node) placed() bool {
	for _, at := range n.knownPositions() {
		if at.Seen.IsZero() {
			return false
		}
	}
	return true
}

// touch has the state saved soon, because a block changed or a log has its
// first place. It never waits.
func (s *state) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// keepState saves the state once a minute, and soon after a touch.
func (n *Node) keepState(ctx context.Context) {
	for n.state.path != "" {
		begun := time.Now()
		n.save()
		rest := max(saveSoon, saveShare*time.Since(begun))
		if !pause(ctx, rest) || !n.state.wait(ctx, saveEvery-rest) {
			return
		}
	}
}

// wait waits for a change, but no longer than d, and reports whether to go on.
func (s *state) wait(ctx context.Context, d time.Duration) bool {
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

// save writes a snapshot. A failure is an alarm that stands until one goes
// well.
func (n *Node) save() {
	if n.state.path == "" {
		return
	}
	n.state.saving.Lock()
	defer n.state.saving.Unlock()
	if err := n.write(); err != nil {
		n.state.failed.Add(1)
		n.alarms.begins(n.clock.Now(), alarmState, n.state.path,
			"the state was not saved, and a restart would go on from the last that was: "+err.Error())
		return
	}
	n.state.saves.Add(1)
	n.state.success.Store(n.clock.Now().UnixNano())
	if info, err := os.Stat(n.state.path); err == nil {
		n.state.bytes.Store(info.Size())
	}
	if n.alarms.ends(alarmState, n.state.path) {
		n.log.Info("works again", "alarm", alarmState, "about", n.state.path)
	}
}

func (n *Node) write() error {
	now := n.clock.Now()
	core := n.pipeline.Current()
	w, err := snapshot.Create(n.state.path, snapshot.Cut{Node: core.Config.Node, Taken: now, Offset: n.clock.Offset()})
	if err != nil {
		return err
	}
	defer w.Close()
	n.writeCut(w, core.Detector)
	return w.Commit()
}

// writeCut writes the records. No line of a log is decided meanwhile: a
// position and the counts of the lines before it are of one moment. Requests
// of forward auth, which come only once, go on.
func (n *Node) writeCut(w *snapshot.Writer, d *detector.Detector) {
	held := n.hold.All() // it sorts them: before the logs are held up
	n.cut.Lock()
	defer n.cut.Unlock()
	for _, t := range d.Tables() {
		writeTable(w, &t)
	}
	for b, forced := range n.list.Records() {
		w.Block(&snapshot.Block{Block: b, Forced: forced})
	}
	for _, one := range held {
		w.Block(&snapshot.Block{Block: one.Block, Held: true, Share: one.Share, At: one.At})
	}
	for s := range d.Steps() {
		w.Step(snapshot.Step(s))
	}
	for file, at := range n.knownPositions() {
		if place, err := placeOf(at); err == nil {
			w.Position(snapshot.Position{Source: file, Place: place})
		}
	}
}

func writeTable(w *snapshot.Writer, t *detector.Table) {
	w.Meter(snapshot.Meter{Fingerprint: savedName(t), Width: t.Meter.Width})
	t.Windows(func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool {
		w.Window(&snapshot.Window{Prefix: prefix, With: with, Head: head, Counts: *counts})
		return true
	})
}

// placeOf writes a position. Of a log that was rotated very often the oldest
// files are left out: they were read, and kept for latecomers only.
func placeOf(at accesslog.Position) ([]byte, error) {
	for {
		place, err := json.Marshal(at)
		if err != nil || len(place) <= maxPlace {
			return place, err
		}
		if len(at.Files) == 0 {
			return nil, fmt.Errorf("a position of %d bytes", len(place))
		}
		at.Files = at.Files[1:]
	}
}

// stateFigures gives how the state stands; nil where none is kept.
func (n *Node) stateFigures() *admin.Snapshot {
	if n.state.path == "" {
		return nil
	}
	s := &admin.Snapshot{Written: n.state.saves.Load(), Failures: n.state.failed.Load(), Bytes: n.state.bytes.Load()}
	if at := n.state.success.Load(); at != 0 {
		s.Success = n.clock.Epoch(time.Unix(0, at))
	}
	return s
}
