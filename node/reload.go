package node

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/rules"
)

// reloads is how the last reload went.
type reloads struct {
	// last is when the config was last replaced, in Unix nanoseconds.
	last atomic.Int64
	// silenced are the rules that it silenced.
	silenced atomic.Pointer[[]admin.Silenced]
	// error is that of the last reload, nil if it succeeded.
	error atomic.Pointer[string]
}

// figures returns how the config was last read: at the start, unless it was
// reloaded.
func (r *reloads) figures(clock *clockguard.Clock, begun time.Time, c *config.Config) *admin.Reload {
	out := &admin.Reload{OK: true, Success: clock.Epoch(begun)}
	if failed := r.error.Load(); failed != nil {
		out.OK, out.Error = false, *failed
	}
	if last := r.last.Load(); last != 0 {
		out.Success = clock.Epoch(time.Unix(0, last))
	}
	for _, piece := range c.Pieces {
		out.Pieces = append(out.Pieces, piece.File)
	}
	if silenced := r.silenced.Load(); silenced != nil {
		out.Silenced = *silenced
	}
	return out
}

// silenced returns the rules that block by one config, and not by the next, and have blocks in
// the list. In mode monitor no block is in force, whatever the rules say.
func (n *Node) silenced(before, after *config.Config) (all []admin.Silenced) {
	blocks := func(c *config.Config, rule string) bool {
		return slices.ContainsFunc(c.Rules.Rules, func(r rules.Rule) bool { return r.Name == rule && r.Action == edgeguard.ActionBlock })
	}
	for i := range before.Rules.Rules {
		name := before.Rules.Rules[i].Name
		if after.Monitor || !blocks(before, name) || blocks(after, name) {
			continue
		}
		if stay, _ := n.list.Count(func(of blocklist.Common) bool { return of.Rule == name }); stay > 0 {
			all = append(all, admin.Silenced{Rule: name, Blocks: stay})
		}
	}
	return all
}

// errNotRunning is returned by Reload before Run and after it.
var errNotRunning = errors.New("the node is not running")

// Reload reads the config and puts it in force. Counts of unchanged meters are
// kept; unchanged listeners, logs and enforcers are not interrupted. If the
// config is invalid, the previous one stays in use, and the error, which is also
// an alarm, says why.
func (n *Node) Reload() error {
	n.lifecycle.systemd.reloading()
	err := n.reload()
	now := n.clock.Now()
	if err != nil {
		text := err.Error()
		n.lifecycle.reloads.error.Store(&text)
		n.alarms.Begins(now, alarm.Reload, "", "the config was not reloaded, and the previous one stays in use: "+err.Error())
	} else {
		n.lifecycle.reloads.error.Store(nil)
		n.lifecycle.reloads.last.Store(now.UnixNano())
		n.alarms.Ends(alarm.Reload, "")
		n.admin.state("reloaded", n.line())
		c := n.pipeline.Current().Config
		n.options.Log.Info("config reloaded", "mode", modeName(c), "rules", len(c.Rules.Rules), "pieces", len(c.Pieces))
	}
	n.lifecycle.systemd.ready(n.line())
	return err
}

func (n *Node) reload() error {
	n.lifecycle.changing.Lock()
	defer n.lifecycle.changing.Unlock()
	if n.lifecycle.base == nil {
		return errNotRunning
	}
	if n.options.Load == nil {
		return errors.New("the node was started without a config file: there is nothing to reload")
	}
	c, err := n.options.Load()
	if err != nil {
		return err
	}
	before := n.pipeline.Current().Config
	if err := rehearse(n.sockets, c, before); err != nil {
		return err
	}
	if c.Fleet == nil {
		n.fleet.Stop() // it pushes what the next generation does not count
	}
	c = n.lifecycle.overlay.On(c)
	n.pipeline.Replace(n.clock.Now(), c)
	n.quarantine.SetLimit(confirmShare(c))
	n.quarantine.SetMost(c.MaxBlocks)
	if c.MaxBlocks != before.MaxBlocks {
		n.list.SetMost(c.MaxBlocks)
	}
	n.imports.Set.SetMost(c.MaxImported, n.clock.Now())
	n.list.SetAllow(c.Allowlist)
	n.protected.look()
	n.settle(c)
	n.parts.again()
	for _, w := range c.Warnings {
		n.options.Log.Warn("config: " + w.String())
	}
	if n.options.Reloaded != nil {
		n.options.Reloaded(c)
	}
	silenced := n.silenced(before, c)
	n.lifecycle.reloads.silenced.Store(&silenced)
	for _, s := range silenced {
		n.options.Log.Warn("config: " + s.String())
	}
	if c.Memory != before.Memory || c.State != before.State || c.Samples != before.Samples || c.KeepEvents != before.KeepEvents || c.KeepEventsFor != before.KeepEventsFor {
		n.options.Log.Warn("config: changes of memory, state, samples, keep_events and keep_events_for need a restart")
	}
	return nil
}

// retune puts the config in force that f returns, with other thresholds or
// candidates. No service is concerned.
func (n *Node) retune(f func() (*config.Config, error)) error {
	n.lifecycle.changing.Lock()
	defer n.lifecycle.changing.Unlock()
	if n.lifecycle.base == nil {
		return errNotRunning
	}
	c, err := f()
	if err == nil {
		n.pipeline.Replace(n.clock.Now(), c)
	}
	return err
}
