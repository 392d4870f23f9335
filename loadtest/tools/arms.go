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
	name, what string
	base       string   // the arm that it adds to; empty for a web server alone
	needs      []string // what is to be installed
	// expressed is how the limit is said to it; bound is by how much it may be off, as its
	// documents or its mechanism have it.
	expressed func(rule) string
	bound     string
	start     func(context.Context, *site) error
	// counted tells how many requests the program beside the server has counted; nil if
	// that is before the answer, or it cannot be asked. Such a one rests for so long at most.
	counted func(context.Context, *site) (uint64, error)
	rests   time.Duration
}

// edgeguardLimit is how the limit is said to edgeguard.
func edgeguardLimit(more string) func(rule) string {
	return func(r rule) string {
		return fmt.Sprintf("{threshold: %d, guard: 1, window: %dm}; %s", r.limit, int(r.window/time.Minute), more)
	}
}

func nothing(rule) string { return "no limit" }

const (
	ring = "a window of 60 slots: counts up to one slot less than the window, never more"
	late = ring + "; lets pass what comes before "
)

var allArms = []*arm{
	{name: "nginx", what: "nginx alone, with its buffered log", needs: []string{"nginx"}, expressed: nothing, start: nginxAlone},
	{name: "limit-req", what: "nginx's limit_req", base: "nginx", needs: []string{"nginx"}, start: limitReq,
		expressed: func(r rule) string { zone, limit := limitReqLines(r); return zone + " " + limit },
		bound:     "a leaky bucket has no window: it lets pass up to twice the limit in one, and refuses nobody who stays under it"},
	{name: "fail2ban", what: "fail2ban, by nginx's log, with its own action nginx-block-map", base: "nginx", needs: []string{"nginx", "fail2ban-server"},
		start: fail2ban, rests: 1200 * time.Millisecond,
		expressed: func(r rule) string {
			return fmt.Sprintf("maxretry = %d, findtime = %d", r.limit+1, int(r.window/time.Second))
		},
		bound: "what it has counted for longer than findtime it takes as spread evenly, so that it may refuse who is under the limit; " +
			"lets pass what comes before it has read the log, each second, and nginx has reloaded, for each ban"},
	{name: "forward-auth", what: "edgeguard by nginx's auth_request, unix socket", base: "nginx", needs: []string{"nginx"},
		start: forwardAuth, expressed: edgeguardLimit("edgeguard snippets nginx"), bound: ring},
	{name: "cached-pass", what: "edgeguard counts from nginx's log; auth_request with a pass cached 1 s", base: "nginx", needs: []string{"nginx"},
		start: cachedPass, counted: logged, expressed: edgeguardLimit("edgeguard snippets nginx, with a cache"), bound: late + "the log is read and the kept pass has ended, some 1.1 s at most"},
	{name: "log", what: "edgeguard counts from nginx's log; nginx refuses by a geo list", base: "nginx", needs: []string{"nginx"},
		start: nginxGeo, counted: logged, expressed: edgeguardLimit("edgeguard snippets nginx-geo"),
		bound: late + "the log is read and nginx has reloaded the list, which it does every 10 s at most"},
	{name: "haproxy", what: "HAProxy alone, without a log", needs: []string{"haproxy"}, expressed: nothing, start: haproxyAlone},
	{name: "stick-table", what: "HAProxy's stick table, http_req_rate", base: "haproxy", needs: []string{"haproxy"}, start: stickTable,
		expressed: stickTableLines,
		bound:     "two counters: the window before is taken as spread evenly, so that it may refuse who is under the limit, and let pass up to twice the limit"},
	{name: "peers", what: "edgeguard reads HAProxy's stick tables and fills them (peers protocol)", base: "haproxy", needs: []string{"haproxy"},
		start: peers, counted: received, expressed: edgeguardLimit("edgeguard snippets haproxy-peers"),
		bound: late + "HAProxy's table is read and filled, some 20 ms"},
	{name: "spoe", what: "edgeguard asked by HAProxy's SPOE, unix socket", base: "haproxy", needs: []string{"haproxy"},
		start: spoe, expressed: edgeguardLimit("edgeguard snippets haproxy-spoe"), bound: ring},
	{name: "haproxy-log", what: "edgeguard counts from HAProxy's log by a unix socket; refuses by its stats socket", base: "haproxy", needs: []string{"haproxy"},
		start: haproxyLog, counted: logged, expressed: edgeguardLimit("edgeguard snippets haproxy, haproxy-map"),
		bound: late + "HAProxy's map is changed, each second; a burst of requests may lose lines"},
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
