package admin

import (
	"fmt"
	"slices"
	"time"

	"edgeguard/admin/watch"
	"edgeguard/crawlers"
	"edgeguard/crowdsec"
	"edgeguard/detector"
	"edgeguard/haproxy"
	"edgeguard/internal/words"
	"edgeguard/notify"
)

// Stats is a node's figures: what `status` shows and what the metrics are made
// of. Counters begin at the start of the node. A part that a node does not
// have is left empty and has no metric.
type Stats struct {
	Node    string    `json:"node"`
	Version string    `json:"version"`
	Monitor bool      `json:"monitor"` // nothing is enforced, all is reported
	Started time.Time `json:"started"`
	Time    time.Time `json:"time"`
	// Ready says that the node has restored its state and listens wherever the
	// config says.
	Ready bool `json:"ready"`
	// Health is a row for each part of the node, the worst first.
	Health []HealthRow `json:"health,omitempty"`
	// Learned is what the rules have learned whose thresholds are left to what the node sees.
	Learned []Learned `json:"learned,omitempty"`
	// Needs are what an operator should look at beside the alarms.
	Needs []Need `json:"needs,omitempty"`

	Events Totals                `json:"events"`
	Flood  detector.SpoofedFlood `json:"flood"`
	// Site is nil where no rule goes by the status.
	Site *Site `json:"site,omitempty"`
	// Crawlers is nil without any in the config.
	Crawlers *crawlers.Claims `json:"crawlers,omitempty"`
	// V4 and V6 are the active blocks.
	V4 int `json:"blocks_v4"`
	V6 int `json:"blocks_v6"`
	// MaxBlocks is how many blocks may be active, and ByHand how many of the
	// active ones are an operator's. Evicted blocks made room for others.
	MaxBlocks int    `json:"max_blocks"`
	ByHand    int    `json:"blocks_by_hand"`
	Evicted   uint64 `json:"blocks_evicted"`
	// Forgotten unblocks and ended blocks found no room among what is remembered.
	Forgotten uint64 `json:"blocks_forgotten"`
	// SortedBytes is the memory of copies of the list in another order. A minute
	// after they were last read there are none.
	SortedBytes int64 `json:"sorted_bytes,omitempty"`
	// Imports are the blocks of other people's lists, which are not among V4 and V6.
	Imports Imports `json:"imports"`
	// Elsewhere is what is in force that this node did not make.
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"`
	// Allowances are the active ones made at run time.
	Allowances int `json:"allowances"`

	Tables  Tables   `json:"tables"`
	Sources []Source `json:"sources,omitempty"`
	// Uncounted has no entry where there is none.
	Uncounted []Uncounted `json:"uncounted,omitempty"`
	Decisions []Decisions `json:"decisions,omitempty"`
	Logs      []Log       `json:"logs,omitempty"`
	Enforcers []Enforcer  `json:"enforcers,omitempty"`
	// HAProxies are the listeners at which they count and are taught.
	HAProxies []haproxy.ListenerFigures `json:"haproxies,omitempty"`
	// Bouncers are those of CrowdSec, nil where none can connect.
	Bouncers *BouncerFigures `json:"bouncers,omitempty"`
	// Notified are the receivers of notifications.
	Notified []notify.Figures `json:"notified,omitempty"`
	// CrowdSec is nil without it in the config.
	CrowdSec *crowdsec.Figures `json:"crowdsec,omitempty"`
	Snapshot *Snapshot         `json:"snapshot,omitempty"`
	Reload   *Reload           `json:"reload,omitempty"`
	// Fleet is nil for a node alone.
	Fleet *Fleet `json:"fleet,omitempty"`
}

// Totals is what became of all events. One request is one: a question where a log counts, and
// an answer in a log where another source counts the request, are none.
type Totals struct {
	Decided  uint64 `json:"decided"`
	Passed   uint64 `json:"passed"`
	Shadowed uint64 `json:"shadowed"` // over the limit of a rule in shadow
	Denied   uint64 `json:"denied"`
	// WouldBeRefused are those of the shadowed that mode monitor alone lets pass.
	WouldBeRefused uint64 `json:"would_be_refused,omitempty"`
	// Served are those of the denied that a server answered all the same, as its log
	// says: a verdict on a log line comes too late for it.
	Served uint64 `json:"served"`
	Spared uint64 `json:"spared"` // of the passed: allowed or protected
	Late   uint64 `json:"late"`   // older than the window of a meter: not counted
	Early  uint64 `json:"early"`  // from the future: counted now
	// Unknown are answers with which clients are turned away that came too late to tell whether
	// this node had refused them: counted.
	Unknown uint64 `json:"unknown"`
}

// Refused returns how many events were refused; in mode monitor, how many would have been.
func (s *Stats) Refused() uint64 {
	if s.Monitor {
		return s.Events.WouldBeRefused
	}
	return s.Events.Denied
}

// Tables is the memory of all meters together.
type Tables struct {
	Keys  int `json:"keys"`
	Rings int `json:"rings"` // of the keys: those with slots of their own
	// Expired keys were idle; Evicted made room for keys of higher rank; Refused events
	// found no room; Undercounted keys have counts that are too low because
	// memory was full.
	Expired      uint64 `json:"expired"`
	Evicted      uint64 `json:"evicted"`
	Refused      uint64 `json:"refused"`
	Undercounted uint64 `json:"undercounted"`
	// Limit and Used are bytes; Parts of Used by name, such as "keys", "rings"
	// and "sketch", and beside it "history".
	Limit int64            `json:"limit_bytes"`
	Used  int64            `json:"used_bytes"`
	Parts map[string]int64 `json:"parts,omitempty"`
}

// Source is one source of events, such as "auth 127.0.0.1:9180": its kind, and what it reads or
// where it listens.
type Source struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	At   string `json:"at"`
	// Asked says that it is a listener at which proxies ask and wait.
	Asked  bool   `json:"asked,omitempty"`
	Events uint64 `json:"events"`
	// Refused is how many of a proxy's questions were answered with a refusal, whichever
	// source counts the requests.
	Refused uint64 `json:"refused,omitempty"`
	// Late is how many questions of a proxy were answered after it had stopped waiting, at
	// least: it let those requests pass, unless it is to refuse them.
	Late uint64 `json:"late,omitempty"`
	// Malformed and Dropped count packets of an interface: those that could not be read, and those
	// that the kernel dropped, because they were not read in time.
	Malformed uint64 `json:"malformed,omitempty"`
	Dropped   uint64 `json:"dropped,omitempty"`
	// FrontDoor says whose the source's addresses are where it shows only what stands before the
	// site: "private", or a CDN's name. Nobody in it is blocked.
	FrontDoor string `json:"front_door,omitempty"`
}

// Uncounted is how many requests of a source were not counted, or only by some
// of the rules, for one reason.
type Uncounted struct {
	Source string `json:"source"`
	Reason string `json:"reason"` // of edgeguard.Reason
	Count  uint64 `json:"count"`
}

// Decisions counts verdicts of one source ("auth 127.0.0.1:9180", "log FILE"),
// by action and by the rule that decided (empty for a pass): each request once, as in Totals.
type Decisions struct {
	Source string `json:"source"`
	Action string `json:"action"`
	Rule   string `json:"rule,omitempty"`
	Count  uint64 `json:"count"`
	// Unenforced says that mode monitor alone let them pass.
	Unenforced bool `json:"unenforced,omitempty"`
}

// Log is one log that is followed or received.
type Log struct {
	Name string `json:"name"`
	// Files is how many files of a pattern are followed.
	Files int `json:"files,omitempty"`
	// Of the Lines, Parsed ones became events, the last at Last, Skipped ones could not be
	// read. Lost ones never arrived: by a unix datagram socket, whose losses the kernel does not
	// count, at least so many. Refused ones came by UDP from others.
	Lines   uint64    `json:"lines"`
	Parsed  uint64    `json:"parsed"`
	Last    time.Time `json:"last_event,omitzero"`
	Skipped uint64    `json:"skipped"`
	// Age is how old the newest event of the last lines was when it was counted: the delay of the
	// server and of reading together.
	Age float64 `json:"age_seconds,omitempty"`
	// Suppressed is how many lines the log says never came to it, by a limit of a daemon.
	Suppressed uint64 `json:"suppressed,omitempty"`
	// Unread says of each program whose lines are not understood that it is so, with an example.
	Unread []string `json:"unread,omitempty"`
	Lost   uint64   `json:"lost"`
	// Dropped is how many lines the HAProxy that writes here could not send to one of its
	// log servers, by its stats socket, since the log is received: at most so many are lost.
	Dropped uint64 `json:"haproxy_dropped,omitempty"`
	Refused uint64 `json:"refused"`
	// Of the parsed whose verdict is to refuse them, the server turned away or served
	// these, by their status. Of others the status says nothing.
	TurnedAway uint64 `json:"turned_away"`
	Served     uint64 `json:"served"`
	// Late and Early are of the parsed: those that were older than the default
	// window when they came, and those from the future, counted when they came.
	Late  uint64 `json:"late"`
	Early uint64 `json:"early"`
	// Behind is how many bytes of a followed file are still to be read;
	// LostBytes how many were seen in it and were gone before they were read.
	Behind    int64  `json:"behind_bytes"`
	LostBytes uint64 `json:"lost_bytes"`
	// Rotations counts the files that took another's place. Truncations were
	// emptied in place, which may each have lost lines unnoticed; Gaps are
	// files that were gone, or could not be opened, before they were read to their end.
	Rotations   uint64 `json:"rotations"`
	Truncations uint64 `json:"truncations"`
	Gaps        uint64 `json:"gaps"`
}

// Plus returns what two logs of one name gave together.
func (l Log) Plus(o *Log) Log {
	return Log{
		Unread: slices.Concat(l.Unread, o.Unread),
		Name:   o.Name, Files: l.Files + o.Files, Parsed: l.Parsed + o.Parsed, Skipped: l.Skipped + o.Skipped, Suppressed: l.Suppressed + o.Suppressed, Lost: l.Lost + o.Lost, Dropped: l.Dropped + o.Dropped, Refused: l.Refused + o.Refused,
		TurnedAway: l.TurnedAway + o.TurnedAway, Served: l.Served + o.Served,
		Late: l.Late + o.Late, Early: l.Early + o.Early, Behind: l.Behind + o.Behind, LostBytes: l.LostBytes + o.LostBytes,
		Rotations: l.Rotations + o.Rotations, Truncations: l.Truncations + o.Truncations, Gaps: l.Gaps + o.Gaps,
	}
}

// Enforcer is one place that blocks are made real in.
type Enforcer struct {
	Name string `json:"name"`
	// Intended and Installed differ while it fails or is behind. Withheld
	// blocks are not for it: a kernel sees the proxy, and some prefixes are too many entries.
	Intended  int `json:"intended"`
	Installed int `json:"installed"`
	Withheld  int `json:"withheld"`
	// Takes is how many seconds it takes at most, in the usual course, until a change is
	// in force there.
	Takes int `json:"takes_seconds"`
	// DryRun says that it counts what it would refuse, and refuses nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Updates and Failures are calls by their end.
	Updates  uint64    `json:"updates"`
	Failures uint64    `json:"failures"`
	Failing  int       `json:"failing"` // failures since the last success
	Error    string    `json:"error,omitempty"`
	Success  time.Time `json:"last_success,omitzero"` // the last update that succeeded
	// KeptBy is the node of the fleet that keeps a shared list in place of this one; empty
	// for a list that this node keeps.
	KeptBy string `json:"kept_by,omitempty"`
	// Packets is nil where it counts none.
	Packets *Packets `json:"packets,omitempty"`
}

// Packets are packets of blocked addresses. Anyone can send them in another's name, so
// they are shown and decide nothing.
type Packets struct {
	Dropped uint64 `json:"dropped"`
	Passed  uint64 `json:"passed"` // that only dry_run let through
}

// Snapshot is the node's state on disk.
type Snapshot struct {
	Written  uint64    `json:"written"`
	Failures uint64    `json:"failures"`
	Bytes    int64     `json:"bytes"`                 // of the last
	Success  time.Time `json:"last_success,omitzero"` // the last time the state was saved
}

// Reload is the last time that the config was read.
type Reload struct {
	OK      bool      `json:"ok"`
	Error   string    `json:"error,omitempty"`
	Success time.Time `json:"last_success,omitzero"` // the last that succeeded
	// Pieces are the files of conf.d that it read beside the config.
	Pieces []string `json:"pieces,omitempty"`
	// Silenced are the rules that block no more since then, and had blocks in force.
	Silenced []Silenced `json:"silenced,omitempty"`
}

// Silenced is a rule that a reload took away, or that blocks no more: its blocks stay in force
// until they end, or somebody lifts them.
type Silenced struct {
	Rule   string `json:"rule"`
	Blocks int    `json:"blocks"` // at the reload
}

// String says it with the command that lifts them.
func (s Silenced) String() string {
	return fmt.Sprintf("rule %s blocks no more, and %s in force until the end: to lift all, edgeguard blocks remove --rule %[1]s",
		s.Rule, words.Plural(s.Blocks, "block of it stays", "blocks of it stay"))
}

// Reloaded is the answer to a reload that succeeded.
type Reloaded struct {
	OK bool `json:"ok"`
}

// RateList is what the node did in each 5 seconds of the last five minutes, and in
// each minute of the last hour.
type RateList struct {
	AsOf   time.Time      `json:"as_of"`
	Series []watch.Series `json:"series"` // in steps of 5 seconds, and of a minute
}

// RateDay is what the node did in each minute of the last day that it ran.
type RateDay struct {
	AsOf    time.Time         `json:"as_of"`
	Minutes []watch.DayMinute `json:"minutes"`
}

// Top is what `edgeguard top` shows beside Stats.
type Top struct {
	// Keys are those nearest to a limit or furthest above it.
	Keys []KeyCount `json:"keys"`
	// Newest are the active blocks made last, the newest first.
	Newest []Block `json:"newest"`
}

// Health is the answer of a process that runs.
type Health struct {
	OK bool `json:"ok"`
}

// Readiness is whether a node has restored its state and listens, and what
// degrades it, without an address.
type Readiness struct {
	Ready    bool   `json:"ready"`
	Degraded bool   `json:"degraded"`
	Reason   string `json:"reason,omitempty"`
}
