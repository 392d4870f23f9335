package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/detector/outage"
	"edgeguard/rules"
)

// What it costs a stranger to have a part of the site look as if it failed, and what he gains:
// the guard's price. He has addresses, three of each /24, that ask every twenty seconds,
// succeed for half an hour and then fail.

const (
	armerEvery = 20 // seconds
	armerWarms = 31 * 60
	pulse      = 180 // seconds, of which his addresses fail for the first 75
	pulseFails = 75
	// He goes over the limit just before it is armed, after a minute, and goes on while it is, but
	// not so often that a rule of requests, whatever their answers, is over its limit.
	guessFrom  = 38
	guessUntil = 74
	priceDay   = 24 * 3600
)

var priceEpoch = time.Unix(1772438400, 0).UTC()

// pricedVisitors are how many succeed a minute beside him.
var pricedVisitors = []int{0, 3, 5, 10, 20, 50}

func armer(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{185, byte(100 + i/750), byte(i / 3 % 250), byte(1 + i%3)})
}

// home returns one of twenty times as many homes as come in a minute.
func home(i int) netip.Addr { return netip.AddrFrom4([4]byte{20, byte(i / 250), byte(i % 250), 7}) }

// armers returns how many addresses arm a scope that so many visitors a minute succeed in.
func armers(visitors int) int {
	for n := 1; ; n++ {
		g, arms := outage.New(0), false
		g.Armed = func(uint8, uint32) { arms = true }
		for sec := range uint32(armerWarms + 5*60) {
			at := uint32(priceEpoch.Unix()) + sec
			for i := range visitors {
				if sec%60 == uint32(60*i/visitors) {
					g.CountAnswer(0, at, home((i+int(sec)/60*visitors)%(20*visitors)), true)
				}
			}
			for i := int(sec % armerEvery); i < n; i += armerEvery {
				g.CountAnswer(0, at, armer(i), sec < armerWarms)
			}
		}
		if arms {
			return n
		}
	}
}

// raid is a day of one who guesses passwords, once a second, about when others have a scope fail,
// which they do in pulses.
type raid struct {
	name     string
	own      []string // own_hosts
	quiet    string   // the host that fails, in which every other guess is made
	visitors int      // a minute, of that scope
}

var raids = []raid{
	{"no own_hosts, 2 visitors a minute", nil, "www.example.org", 2},
	{"own_hosts, a name that nobody visits", []string{"www.example.org", "quiet.example.org"}, "quiet.example.org", 0},
	{"own_hosts, a name that is none of them", []string{"www.example.org"}, "203.0.113.80", 0},
}

// answer is a request with its answer.
func answer(sec int, addr netip.Addr, host, method, path string, status uint16) edgeguard.Event {
	kind := edgeguard.KindRequest | edgeguard.KindResponse
	return edgeguard.Event{Time: priceEpoch.Add(time.Duration(sec) * time.Second), Addr: addr, Kind: kind, Verified: kind,
		Host: host, Method: method, Path: path, Status: status,
		Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus}
}

// guessCosts is what login/failed counts of a failure.
const guessCosts = 4

var guesser = netip.MustParseAddr("198.51.100.66")

// play returns the day's events, with or without those who arm.
func (r *raid) play(addresses int) (events []edgeguard.Event) {
	for sec := range priceDay {
		for i := range r.visitors {
			if sec%60 == 60*i/r.visitors {
				events = append(events, answer(sec, home((i+sec/60*r.visitors)%(20*r.visitors)), r.quiet, "GET", "/", 200))
			}
		}
		since := sec - armerWarms
		for i := sec % armerEvery; i < addresses; i += armerEvery {
			status := uint16(200)
			if since >= 0 && since%pulse < pulseFails {
				status = 404
			}
			events = append(events, answer(sec, armer(i), r.quiet, "GET", "/nope", status))
		}
		switch {
		case sec%600 == 0:
			events = append(events, answer(sec, guesser, r.quiet, "GET", "/", 200))
		case since >= 0 && since%pulse >= guessFrom && since%pulse < guessUntil:
			events = append(events, answer(sec, guesser, []string{"www.example.org", r.quiet}[sec%2], "POST", "/login", 401))
		}
	}
	return events
}

// guesses returns how many guesses of a day are let in.
func (r *raid) guesses(ctx context.Context, set ruleset, addresses int) (int, error) {
	set.own, _ = rules.ParseHosts(r.own)
	o, err := judge(ctx, set, &memory{r.play(addresses)})
	if err != nil {
		return 0, err
	}
	v := o.visitors[guesser]
	return v.events - v.refused, nil
}

// printPrice prints what arming costs and what it gains.
func printPrice(ctx context.Context, out io.Writer, set ruleset) error {
	table(out, "visitors a minute", "addresses", "networks", "their requests a minute, for half an hour")
	for _, visitors := range pricedVisitors {
		n := armers(visitors)
		fmt.Fprintf(out, "| %d | %d | %d | %d |\n", visitors, n, (n+2)/3, n*60/armerEvery)
	}
	i := slices.IndexFunc(set.set.Rules, func(r rules.Rule) bool { return r.Name == "login/failed" })
	fmt.Fprintf(out, "\n%d limits of `login/failed` are %d guesses.\n\n", detector.SparedLimits, detector.SparedLimits*int(set.set.Rules[i].Limit)/guessCosts)
	table(out, "the scope that fails", "guesses let in in a day, alone", "with 36 who arm")
	for i := range raids {
		alone, err := raids[i].guesses(ctx, set, 0)
		if err != nil {
			return err
		}
		with, err := raids[i].guesses(ctx, set, 36)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %d | %d |\n", raids[i].name, alone, with)
	}
	return nil
}
