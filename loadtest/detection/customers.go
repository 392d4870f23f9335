package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"time"

	"edgeguard"
	"edgeguard/loadtest/scenes"
	"edgeguard/loadtest/tuned"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning/evidence"
)

// How often "may be a customer" is said of a block, and of whom.

// strict has customers blocked, too, as no preset has: whoever sends three passwords in an hour.
const strict = `rules: [{name: three-logins, match: {method: POST, path: ["*login*", "*/signin", "*/session*", "*/token", "/xmlrpc.php", "/administrator/index.php"]}, threshold: 2, guard: 1, window: 1h, block_for: 1h}]` + "\n"

// siteHosts are the names of the labelled logs' sites.
var siteHosts = map[string][]string{
	"weblog-wordpress-2016": {"*sparkdeveloper.com", "*agilemobiledeveloper.com", "*mongodbdev.com", "*airisdata.com", "*baconlandia.com",
		"*occultscienceindustries.com", "*dogshitsecurity.work", "*devopscops.xyz"},
	"weblog-joomla-almhuette-2019": {"*almhuette-raith.at"},
	"weblog-elastic-apache":        {"*semicomplete.com"},
}

// claims are addresses of one sort: how many, those that were served as many pages as customers are at
// any time, those that a rule of logins blocked, and those of these of which it was said.
type claims struct{ all, read, blocked, said int }

// claimed counts who of a log is what. sort names the sort of an address.
func claimed(ctx context.Context, r ruleset, own []string, source replay.Source, sort func(netip.Addr) string, into map[string]*claims) error {
	r.own, _ = rules.ParseHosts(own)
	visits, read, blocked := evidence.NewVisits(), map[netip.Addr]bool{}, map[netip.Prefix]bool{}
	_, err := replay.Run(ctx, source, replay.Config{
		Rules: r.set, Own: r.own, Memory: shard.NewMemory(512 << 20),
		Clients: []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)},
		Seen: func(e *edgeguard.Event) {
			visits.Note(e.Time, e, r.own)
			read[e.Addr] = read[e.Addr] || visits.MayBeCustomer(e.Time, evidence.Prefix(e.Addr))
		},
		Crossed: func(c edgeguard.Crossing) {
			if c.Action == edgeguard.ActionBlock && evidence.CountsLogins(&r.set.Meters[r.rule(c.Rule).Meter]) {
				blocked[c.Key.Prefix] = blocked[c.Key.Prefix] || visits.MayBeCustomer(c.Time, c.Key.Prefix)
			}
		},
	})
	for addr := range read {
		of := into[sort(addr)]
		if of == nil {
			of = new(claims)
			into[sort(addr)] = of
		}
		of.all++
		if read[addr] {
			of.read++
		}
		if said, is := blocked[evidence.Prefix(addr)]; is {
			of.blocked++
			if said {
				of.said++
			}
		}
	}
	return err
}

// printCustomers prints of whom it is said.
func printCustomers(ctx context.Context, out io.Writer, packaged ruleset, data string, l tuned.Labels, seeds int) error {
	sets := []ruleset{packaged, packaged}
	var err error
	if sets[1], err = parse("three logins an hour", []byte(strict)); err != nil {
		return err
	}
	table(out, "who", "rules", "addresses", "were served three pages", "blocked by a rule of logins", "of these said to be maybe a customer")
	for _, r := range sets {
		all := make(map[string]*claims)
		if err := claimedAll(ctx, r, data, l, seeds, all); err != nil {
			return err
		}
		for _, who := range []string{"logs: visitors", "logs: owners", "logs: crawlers, services", "logs: attackers", "logs: no label", "scenes: visitors", "scenes: attackers", guesserFakes} {
			if of := all[who]; of != nil {
				fmt.Fprintf(out, "| %s | %s | %d | %d | %d | %d |\n", who, r.name, of.all, of.read, of.blocked, of.said)
			}
		}
	}
	return nil
}

// claimedAll counts all logs, scenes and the guesser.
func claimedAll(ctx context.Context, r ruleset, data string, l tuned.Labels, seeds int, all map[string]*claims) error {
	for _, folder := range l.Folders {
		log, err := openLog(filepath.Join(data, folder))
		if err != nil {
			return err
		}
		err = claimed(ctx, r, siteHosts[folder], replay.SortByTime(log, 0), func(a netip.Addr) string { return sortOf(l.Of[folder][a]) }, all)
		_ = log.Close() // it was only read
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
	}
	play := func(text []byte, sort func(netip.Addr) string) error {
		events, err := parseScene(text)
		if err != nil {
			return err
		}
		return claimed(ctx, r, []string{"harbour.example"}, &memory{events}, sort, all)
	}
	for _, scene := range scenes.Scenes() {
		for seed := range seedsOf(scene, seeds) {
			traffic := scene.Play(uint64(seed) + 1)
			err := play(traffic.Log, func(a netip.Addr) string {
				if traffic.Attackers[a] {
					return "scenes: attackers"
				}
				return "scenes: visitors"
			})
			if err != nil {
				return err
			}
		}
	}
	return play(fakes(), func(netip.Addr) string { return guesserFakes })
}

// sortOf names the sort of a label.
func sortOf(w tuned.Who) string {
	switch {
	case w.Attacker():
		return "logs: attackers"
	case w.Label == "crawler", w.Label == "service":
		return "logs: crawlers, services"
	case w.Label == "":
		return "logs: no label"
	}
	return "logs: " + w.Label + "s"
}

// guesserFakes is who fetches three pages, so that it is said of him, and then guesses.
const guesserFakes = "a guesser who first fetches three pages"

// fakes is a log of 20 such guessers.
func fakes() []byte {
	var out bytes.Buffer
	at := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	line := func(from int, request string, status int) {
		fmt.Fprintf(&out, "203.0.%d.7 - - [%s] \"%s HTTP/1.1\" %d 900 \"https://harbour.example/\" \"Mozilla/5.0\"\n", from, at.Format("02/Jan/2006:15:04:05 -0700"), request, status)
	}
	for n := range 100 {
		at = at.Add(10 * time.Second)
		for from := 1; from <= 20; from++ {
			if n < 3 {
				line(from, fmt.Sprintf("GET /page-%d", n), 200)
			} else {
				line(from, "POST /wp-login.php", 200)
			}
		}
	}
	return out.Bytes()
}
