package listeners

import (
	"context"
	"fmt"
	"net"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/internal/lobby"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/checks"
	"edgeguard/node/pipeline"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/refusal"
)

// drainTime is how long a node that ends waits for answers under way.
const drainTime = 2 * time.Second

// Asked makes the listeners at which proxies ask about each request while it waits: by forward
// auth, by gRPC from Envoy, by SPOE from HAProxy. Its fields are what these use of a node.
type Asked struct {
	Deps
	Pipeline *pipeline.Pipeline
	Clock    *clockguard.Clock
	// Observe returns a decider that is measured, and of which the verdicts are counted where
	// counts is set: not where another source counts the requests.
	Observe func(source string, counts bool, decide edgeguard.Decider) edgeguard.Decider
	// Uncounter returns what a source calls with requests that it cannot count.
	Uncounter func(source string) edgeguard.Uncounter
}

// asking is a server that proxies ask.
type asking interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Connections() lobby.Stats
}

// askedAt is one entry of the config.
type askedAt struct {
	*Asked
	entry, name string // in the config; for people
	kind        string // of a source of events
	address     string
	full        string // the kind of the alarm when it is full
	places      int
	counts      bool // the requests; else another source does
}

// figures are what a server of each kind counts. Events are without questions that have no
// client.
type figures struct{ events, passed, late uint64 }

// service returns the listener of an entry with these settings. Start makes its server and
// opens it; read returns its figures.
func service[S any, P interface {
	*S
	asking
}](at askedAt, access unixsocket.Access, settings any, start func(open func() (net.Listener, error)) (P, net.Listener, error), read func(P) figures) *Service[S] {
	return &Service[S]{
		Deps: at.Deps, Serves: at.name, Address: at.address, Access: access, Settings: fmt.Sprintf("%s %+v", at.entry, settings),
		Start: func(_ context.Context, open func() (net.Listener, error)) (*S, func(context.Context) error, error) {
			server, nl, err := start(open)
			if err != nil {
				return nil, nil, fmt.Errorf("%s %s: %w", at.entry, at.address, err)
			}
			return server, func(ctx context.Context) error { return at.answer(ctx, server, nl) }, nil
		},
		Figures: func(s *S, to *admin.Stats) {
			f := read(s)
			to.Sources = append(to.Sources, admin.Source{Name: at.source(), Kind: at.kind, At: at.address, Asked: true, Events: f.events, Refused: f.events - min(f.events, f.passed), Late: f.late})
			if at.counts {
				to.Decisions = append(to.Decisions, admin.Decisions{Source: at.source(), Action: "pass", Count: f.passed})
			}
		},
		Full:        checks.Full{Alarms: at.Alarms, Kind: at.full, Key: at.entry, Address: at.address, Places: at.places},
		Connections: func(s *S) lobby.Stats { return P(s).Connections() },
		Late:        checks.Late{Alarms: at.Alarms, Address: at.address},
		Lates:       func(s *S) uint64 { return read(s).late },
	}
}

// answer answers until ctx is done, and then waits for the answers under way.
func (at *askedAt) answer(ctx context.Context, s asking, nl net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(nl) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := s.Shutdown(deadline); err != nil {
		at.Log.Warn("answers under way were cut off", "at", at.address, "error", err)
	}
	return <-ended
}

// source is its name among the sources of events.
func (at *askedAt) source() string { return at.kind + " " + at.address }

// settings returns what the sensor of the entry is told, with whom it trusts.
func (at *askedAt) settings(trust *clientaddr.Trust, header string, fronted bool) inline.Config {
	return inline.Config{
		Decide: at.decide(at.counts), LookUp: !at.counts, Policy: at.policy, Now: at.Clock.Now, Trust: trust, Header: header, Fronted: fronted,
		Connections: at.places, Uncounted: at.Uncounter(at.source()), Alarm: at.alarm,
	}
}

// decide returns what counts the requests of the source and judges them, or only looks up
// who is blocked.
func (at *askedAt) decide(counts bool) edgeguard.Decider {
	if !counts {
		return at.Observe(at.source(), false, at.Pipeline.LookUp)
	}
	return at.Observe(at.source(), true, at.Pipeline.Decide)
}

// alarm reports what happened at the listener.
func (at *askedAt) alarm(kind, text string) {
	at.Alarms.Happened(at.Clock.Now(), kind, at.address, at.name+" at "+at.address+": "+text)
}

// policy returns what a rule allows; false for a manual block.
func (at *askedAt) policy(rule string) (refusal.Policy, bool) {
	r, m := at.Pipeline.Current().Rule(rule)
	if r == nil {
		return refusal.Policy{}, false
	}
	return refusal.Policy{Quota: r.Limit, Window: m.Window}, true
}
