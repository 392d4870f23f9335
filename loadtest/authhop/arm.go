package main

import (
	"fmt"
	"slices"
	"strings"
)

// arm is one way to put edgeguard, or less, beside nginx.
type arm struct {
	name     string
	what     string
	answerer string // what to start; empty: nginx asks nobody, or the node
	unix     bool
	cached   bool // nginx keeps a pass until the second ends
	log      bool // nginx writes its access log, buffered
	haproxy  bool // HAProxy instead of nginx
	spoe     bool // which asks by SPOE
	node     bool // the real edgeguard follows that log, and answers if nginx asks
}

// alone is the arm that the arm adds to.
func (a arm) alone() string {
	if a.haproxy {
		return haproxyArm.name
	}
	return "plain"
}

// asks tells whether nginx asks anybody.
func (a arm) asks() bool { return a.answerer != "" || a.cached }

// cachedArm is forward auth at its cheapest: the log counts.
var cachedArm = arm{name: "cached+log", what: "edgeguard counting from the buffered log, TCP, a pass cached 1 s", cached: true, log: true, node: true}

// haproxyArm is what SPOE is compared with.
var haproxyArm = arm{name: "haproxy", what: "HAProxy alone, one thread", haproxy: true}

var allArms = []arm{
	{name: "plain", what: "nginx alone"},
	{name: "responder", what: "a minimal net/http 200, TCP", answerer: "nethttp"},
	{name: "tcp", what: "edgeguard, TCP", answerer: "edgeguard"},
	{name: "unix", what: "edgeguard, unix socket", answerer: "edgeguard", unix: true},
	{name: "cached", what: "edgeguard looking up, TCP, a pass cached 1 s per address", answerer: "lookup", cached: true},
	cachedArm,
	{name: "responder-unix", what: "the net/http responder, unix socket", answerer: "nethttp", unix: true},
	{name: "guard", what: "edgeguard's decision behind net/http, TCP", answerer: "guard"},
	{name: "floor", what: "read, find the empty line, write a constant; TCP", answerer: "floor"},
	haproxyArm,
	{name: "spoe", what: "HAProxy, and edgeguard asked by SPOE, unix socket", answerer: "spoe", unix: true, haproxy: true, spoe: true},
	{name: "log", what: "nginx with its access log, buffer=64k flush=50ms", log: true},
	{name: "log+edgeguard", what: "the same, and edgeguard following that log", log: true, node: true},
}

func armNames() []string {
	var names []string
	for _, a := range allArms {
		names = append(names, a.name)
	}
	return names
}

func pickArms(list string) ([]arm, error) {
	var picked []arm
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(armNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("no arm %q: there are %s", name, strings.Join(armNames(), ", "))
		}
		picked = append(picked, allArms[i])
	}
	return picked, nil
}
