package fleet

import (
	"context"
	"fmt"
	"io"
	"time"

	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
)

// Options says what [Run] runs.
type Options struct {
	Seed uint64
	Full bool // more skews, more clients, longer

	small bool // hardly anything, for tests
}

// Result is what came of all runs. The same options give the same.
type Result struct {
	// Costs says where the costs of commands were measured that Redis' share of a core is
	// computed from.
	Costs string
	Rows  []Row
	Ends  []End
}

// The parts of a result.
const (
	guardPart = "guard"
	splitPart = "split"
	faultPart = "fault"
	quietPart = "quiet"
)

// Row is one run.
type Row struct {
	Part     string
	Scenario string
	Fault    string
	// Percent is what a client sends in a window, of the threshold.
	Percent float64
	WindowS int
	Nodes   int
	Home    bool // each client has its node
	Quiet   bool
	Guard   string
	SkewMS  int64

	Clients      int
	Crossed      int
	Caught       int
	Missed       int
	FalseBlocks  int
	OverAdmitted uint64
	MostOver     uint64
	MedianMS     float64
	MostMS       float64

	Reported int
	Keys     float64
	Calls    float64
	In       float64
	Out      float64
	// Core is Redis' share of a core in percent, computed.
	Core float64
}

// End is at how many nodes a Redis has used up 80 % of a core, by the runs of one kind.
type End struct {
	Quiet   bool
	Home    bool
	PerNode int
	Nodes   float64
	// Beyond says that there was no run with so many: by the two largest it would be.
	Beyond bool
}

// session is a Run as it goes.
type session struct {
	ctx   context.Context
	o     Options
	notes io.Writer
	out   Result
	err   error
}

// Run runs all parts, and notes each of them.
func Run(ctx context.Context, o Options, notes io.Writer) (*Result, error) {
	s := &session{ctx: ctx, o: o, notes: notes, out: Result{Costs: Measured.Measured}}
	s.guards()
	s.splits()
	s.faults()
	s.quiets()
	if s.err != nil {
		return nil, s.err
	}
	return &s.out, nil
}

// note says what comes next.
func (s *session) note(format string, args ...any) {
	if s.err == nil {
		fmt.Fprintf(s.notes, "fleet: "+format+"\n", args...)
	}
}

// add runs a setup and adds its row.
func (s *session) add(row Row, setup Setup) Row {
	if s.err != nil {
		return row
	}
	setup.Seed = s.o.Seed
	setup.setDefaults()
	r, err := Simulate(s.ctx, setup)
	if err != nil {
		s.err = err
		return row
	}
	row.Scenario = setup.Scenario.Name
	row.WindowS, row.Nodes, row.Home, row.Quiet = int(setup.Scenario.Window/time.Second), setup.Nodes, setup.Home, setup.Quiet
	row.Guard, row.SkewMS = setup.Guard.String(), setup.Skew.Milliseconds()
	row.Clients = r.Clients
	row.Crossed, row.Caught, row.Missed, row.FalseBlocks = r.Crossed, r.Caught, r.Missed, r.FalseBlocks
	row.OverAdmitted, row.MostOver = r.OverAdmitted, r.MostOver
	row.MedianMS, row.MostMS = milliseconds(r.quantile(0.5)), milliseconds(r.quantile(1))
	all, lasted := r.All(), r.Lasted.Seconds()
	row.Reported, row.Keys, row.Calls = r.Pushed, round(float64(r.Load(push).Keys)/lasted, 100), round(float64(all.Calls)/lasted, 100)
	row.In, row.Out, row.Core = round(float64(all.In)/lasted, 1), round(float64(all.Out)/lasted, 1), round(100*r.Core(), 1000)
	s.out.Rows = append(s.out.Rows, row)
	return row
}

// round rounds to so many parts of one.
func round(x, parts float64) float64 { return float64(int64(x*parts+0.5)) / parts }

func milliseconds(d time.Duration) float64 { return round(float64(d)/float64(time.Millisecond), 10) }

// The guards that are compared.
var guards = []rules.Guard{900_000, 950_000, 1_000_000}

// guardLimit is the threshold that they are compared at, on so many nodes.
const guardLimit, fleetNodes = 400, 8

// guards shows what a guard is worth: by clients that send this part of the threshold
// within one window and no more, evenly or at its two ends, and by clocks that are off.
func (s *session) guards() {
	const limit = guardLimit
	windows, skews, clients := []time.Duration{time.Minute, 5 * time.Minute}, []time.Duration{0, 100 * time.Millisecond, time.Second, 5 * time.Second}, 20
	if s.o.Full {
		skews = []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second}
		clients = 100
	}
	if s.o.small {
		windows, skews, clients = windows[:1], skews[1:2], 3
	}
	for _, window := range windows {
		s.note("guards and clocks, window %s", window)
		for _, guard := range guards {
			for _, skew := range skews {
				for _, each := range []int{388, 400, 401, 408, 420} {
					s.add(Row{Part: guardPart, Percent: 100 * float64(each) / limit}, Setup{
						Scenario: traffic.OneWindow(traffic.Evenly, clients, each, limit, window), Nodes: fleetNodes, Quiet: true, Guard: guard, Skew: skew})
				}
			}
			for _, each := range []int{408, 600} {
				s.add(Row{Part: guardPart, Percent: 100 * float64(each) / limit}, Setup{
					Scenario: traffic.OneWindow(traffic.BothEnds, clients, each, limit, window), Nodes: fleetNodes, Quiet: true, Guard: guard})
			}
		}
	}
}

// splitLimit is that of the attackers who are spread.
const splitLimit = 200

// splits spreads the same attackers over ever more nodes. What a node counts of one that
// is fast enough is a push old before the others know it.
func (s *session) splits() {
	s.note("attackers over 1 to 1,000 nodes")
	paces, sizes := []int{10, 40, 100, 400}, []int{1, 2, 8, 100, 1000}
	if s.o.small {
		paces, sizes = paces[1:2], sizes[:3]
	}
	for _, perSecond := range paces {
		for _, nodes := range sizes {
			s.add(Row{Part: splitPart}, Setup{
				Scenario: traffic.Rush(20, perSecond, splitLimit, time.Minute), Nodes: nodes, Quiet: true, Skew: 100 * time.Millisecond})
		}
	}
}

// faults lets things go wrong while attackers come over their limits.
func (s *session) faults() {
	s.note("lost, late and repeated pushes, restarts, Redis away")
	const minute = time.Minute
	clients := 40
	if s.o.small {
		clients = 4
	}
	away := [2]time.Duration{40 * time.Second, 70 * time.Second}
	for _, fault := range []struct {
		name string
		with Setup
	}{
		{"none", Setup{}},
		{"1 % of pushes lost", Setup{Lost: 0.01}},
		{"20 % of pushes lost", Setup{Lost: 0.2}},
		{"20 % of answers lost", Setup{Unanswered: 0.2}},
		{"20 % up to 4.9 s late", Setup{Late: 0.2}},
		{"20 % of pushes repeated", Setup{Repeated: 0.2}},
		{"a node restarts every 3 s", Setup{Restarts: 40}},
		{"a node is killed every 3 s", Setup{Kills: 40}},
		{"Redis away 30 s", Setup{Away: away}},
		{"Redis away 30 s, then empty", Setup{Away: away, Emptied: true}},
		{"pushes every 2 s", Setup{Push: 2 * time.Second}},
	} {
		with := fault.with
		with.Scenario, with.Until = traffic.Rush(clients, 100, 400, minute), 2*minute
		with.Nodes, with.Quiet, with.Skew = fleetNodes, true, 100*time.Millisecond
		s.add(Row{Part: faultPart, Fault: fault.name}, with)
	}
}

// quiets lets a crowd come to ever more nodes, reported quietly or in full, and says
// where a Redis ends. In the short run the window is a minute: a slot is a fifth of what
// it is by default, and an attacker is reported as much more often.
func (s *session) quiets() {
	perNode, window, sizes := 4, time.Minute, []int{1, 8, 50, 100, 250, 1000}
	if s.o.Full {
		perNode = 8
	}
	if s.o.small {
		sizes = sizes[:2]
	}
	for _, kind := range []struct{ quiet, home bool }{{true, false}, {true, true}, {false, false}} {
		var rows []Row
		s.note("a crowd at 1 to 1,000 nodes, %s, each client %s", quietly(kind.quiet), balanced(kind.home))
		for _, nodes := range sizes {
			if nodes > 250 && !s.o.Full && (kind.home || !kind.quiet) {
				continue // by a line through the others, or not told
			}
			rows = append(rows, s.add(Row{Part: quietPart}, Setup{
				Scenario: traffic.Crowd(nodes, perNode, 20, window), Quiet: kind.quiet, Home: kind.home}))
		}
		if kind.quiet && len(rows) < len(sizes) {
			continue // what quiet saves ends with the share, and is no line
		}
		end := End{Quiet: kind.quiet, Home: kind.home, PerNode: perNode}
		end.Nodes, end.Beyond = endOf(rows)
		s.out.Ends = append(s.out.Ends, end)
	}
}

// full is which part of its core a Redis may use, in percent.
const full = 80

// endOf returns at how many nodes Redis has used up its part of a core: between two
// runs, or beyond the largest in a line with the one before. Where quiet has ended
// between the two there is a step and no line: from there on what Redis is asked grows
// as the nodes do.
func endOf(rows []Row) (nodes float64, beyond bool) {
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		if last := i == len(rows)-1; b.Core >= full || last {
			grows := (b.Core - a.Core) / float64(b.Nodes-a.Nodes)
			if b.Quiet && b.Reported == b.Clients && a.Reported < a.Clients {
				return round(max(float64(a.Nodes), full*float64(b.Nodes)/b.Core), 1), b.Core < full
			}
			return round(float64(a.Nodes)+(full-a.Core)/grows, 1), b.Core < full
		}
	}
	return 0, false
}
