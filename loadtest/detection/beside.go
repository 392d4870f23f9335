package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"

	"edgeguard"
	"edgeguard/rules"
)

// A real outage of three minutes beside some who have another host fail on purpose for twelve
// before it: 300 homes, of which 100 a minute ask for eight pages, and each script is 404 then.

const (
	besideHomes  = 300
	besideLasts  = 52 * 60
	besideBegins = 43 * 60
	besideEnds   = 46 * 60
	feignBegins  = 31 * 60
	feignEnds    = 42*60 + 30
)

// besides are the settings in which it is played, by name.
var besides = []struct {
	name string
	own  []string
}{
	{"own_hosts", []string{"www.example.org"}},
	{"own_hosts, and the other host is one of them", []string{"www.example.org", "quiet.example.org"}},
	{"no own_hosts", nil},
}

// playBeside returns the events, with so many addresses that have the other host fail.
func playBeside(addresses int) []edgeguard.Event {
	random := rand.New(rand.NewPCG(5, 5))
	at := make([][]edgeguard.Event, besideLasts+60)
	show := func(sec int, addr netip.Addr, host, path string, status uint16) {
		at[sec] = append(at[sec], answer(sec, addr, host, "GET", path, status))
	}
	for visit := range besideLasts / 60 * 100 {
		who, sec := home(random.IntN(besideHomes)), visit/100*60+random.IntN(60)
		for range 8 {
			status := uint16(200)
			if sec >= besideBegins && sec < besideEnds {
				status = 404
			}
			show(min(sec, besideLasts), who, "www.example.org", fmt.Sprintf("/p%d.php", random.IntN(90)), status)
			sec += 4
		}
	}
	for sec := range besideLasts {
		for i := sec % armerEvery; i < addresses; i += armerEvery {
			status := uint16(200)
			if sec >= feignBegins && sec < feignEnds {
				status = 404
			}
			show(sec, armer(i), "quiet.example.org", "/nope", status)
		}
	}
	var events []edgeguard.Event
	for _, some := range at {
		events = append(events, some...)
	}
	return events
}

// besideStopped returns how many homes are blocked and not let in again.
func besideStopped(ctx context.Context, set ruleset, own []string, addresses int) (stopped int, err error) {
	set.own, _ = rules.ParseHosts(own)
	o, err := judge(ctx, set, &memory{playBeside(addresses)})
	if err != nil {
		return 0, err
	}
	for i := range besideHomes {
		if v := o.visitors[home(i)]; v != nil && len(v.by[blocked]) > 0 {
			stopped++
		}
	}
	return stopped, nil
}

// printBeside prints whom the outage stops.
func printBeside(ctx context.Context, out io.Writer, set ruleset) error {
	table(out, "an outage of three minutes, 300 homes", "homes blocked", "beside 36 addresses that have another host fail")
	for _, b := range besides {
		alone, err := besideStopped(ctx, set, b.own, 0)
		if err != nil {
			return err
		}
		with, err := besideStopped(ctx, set, b.own, 36)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %d | %d |\n", b.name, alone, with)
	}
	return nil
}
