package main

import (
	"fmt"
	"slices"
	"strings"
)

// arm is one way to answer nginx.
type arm struct {
	name     string
	what     string
	answerer string // what to start; empty: nginx asks nobody
	unix     bool
	cached   bool
}

var allArms = []arm{
	{name: "plain", what: "nginx alone"},
	{name: "responder", what: "a minimal net/http 200, TCP", answerer: "nethttp"},
	{name: "tcp", what: "edgeguard, TCP", answerer: "edgeguard"},
	{name: "unix", what: "edgeguard, unix socket", answerer: "edgeguard", unix: true},
	{name: "cached", what: "edgeguard looking up, TCP, a pass cached 1 s per address", answerer: "lookup", cached: true},
	{name: "responder-unix", what: "the net/http responder, unix socket", answerer: "nethttp", unix: true},
	{name: "guard", what: "edgeguard's decision behind net/http, TCP", answerer: "guard"},
	{name: "floor", what: "read, find the empty line, write a constant; TCP", answerer: "floor"},
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
