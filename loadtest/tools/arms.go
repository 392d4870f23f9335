package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// arm is a program, or a way of edgeguard's, that limits what comes to a web server.
type arm struct {
	name, what string   // what it is, in few words
	base       string   // the arm that it adds to; empty for a web server alone
	needs      []string // what is to be installed
	start      func(context.Context, *site) error
	// counted tells how many requests the program beside the server has counted; nil if
	// that is before the answer, or it cannot be asked. Such a one rests for so long at most.
	counted func(context.Context, *site) (uint64, error)
	rests   time.Duration
}

var allArms = []*arm{
	{name: "nginx", what: "nginx alone", needs: []string{"nginx"}, start: nginxAlone},
	{name: "limit-req", what: "nginx limit_req", base: "nginx", needs: []string{"nginx"}, start: limitReq},
	{name: "fail2ban", what: "fail2ban", base: "nginx", needs: []string{"nginx", "fail2ban-server"}, start: fail2ban, rests: 1200 * time.Millisecond},
	{name: "forward-auth", what: "edgeguard, auth_request", base: "nginx", needs: []string{"nginx"}, start: forwardAuth},
	{name: "cached-pass", what: "edgeguard, cached pass", base: "nginx", needs: []string{"nginx"}, start: cachedPass, counted: logged},
	{name: "log", what: "edgeguard, log and geo list", base: "nginx", needs: []string{"nginx"}, start: nginxGeo, counted: logged},
	{name: "names", what: "edgeguard, log and names", base: "nginx", needs: []string{"nginx"}, start: nginxNames, counted: logged},
	{name: "haproxy", what: "HAProxy alone", needs: []string{"haproxy"}, start: haproxyAlone},
	{name: "stick-table", what: "HAProxy stick table", base: "haproxy", needs: []string{"haproxy"}, start: stickTable},
	{name: "peers", what: "edgeguard, peers", base: "haproxy", needs: []string{"haproxy"}, start: peers, counted: received},
	{name: "spoe", what: "edgeguard, SPOE", base: "haproxy", needs: []string{"haproxy"}, start: spoe},
	{name: "haproxy-log", what: "edgeguard, HAProxy's log", base: "haproxy", needs: []string{"haproxy"}, start: haproxyLog, counted: logged},
	{name: "haproxy-ring", what: "edgeguard, peers and HAProxy's log by a ring", base: "haproxy", needs: []string{"haproxy"}, start: haproxyRing, counted: logged},
}

// Arms returns the names of all arms, in the order of the result.
func Arms() []string {
	var names []string
	for _, a := range allArms {
		names = append(names, a.name)
	}
	return names
}

// pick returns the named arms with those that they add to, all if none is named.
func pick(names []string) ([]*arm, error) {
	for _, name := range names {
		if !slices.Contains(Arms(), name) {
			return nil, fmt.Errorf("no arm %q: use %s", name, strings.Join(Arms(), ", "))
		}
	}
	var picked []*arm
	for _, a := range allArms {
		adds := func(name string) bool {
			return allArms[slices.Index(Arms(), name)].base == a.name
		}
		if len(names) == 0 || slices.Contains(names, a.name) || slices.ContainsFunc(names, adds) {
			picked = append(picked, a)
		}
	}
	return picked, nil
}

// missing says what an arm has not on this machine; nil if nothing.
func (a *arm) missing() error {
	for _, name := range a.needs {
		if _, err := find(name); err != nil {
			return err
		}
	}
	return nil
}
