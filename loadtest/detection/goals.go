package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"edgeguard/loadtest/scenes"
)

// Scenes by what was found of them before their rules were changed.
var (
	// statusOutages are those in which rules about answers blocked visitors.
	statusOutages = []string{"key-rotated", "deploy", "ingress"}
	// otherOutages are those that higher limits are for.
	otherOutages = []string{"single-sign-on", "retries"}
	// blockedCrowds are, with the outages, the 13 scenes of people who were blocked.
	blockedCrowds = []string{"spa-office", "carrier-logins", "class", "finder", "windows-webdav", "feed-farm", "prefetch", "crawler-migration"}
)

// attackedToo is what the name of an outage ends in that has attackers in its log.
const attackedToo = ", attacked"

// printGoals prints what was to be reached, and what a set of rules does.
func printGoals(out io.Writer, s *judged) {
	all, r := s.all.both(), &s.all[reported]
	table(out, "what ("+s.name+")", "to reach", "is")
	fmt.Fprintf(out, "| labelled attackers of %d or more requests blocked | ≥ 90 | %d of %d |\n", busy, all.busyFound, all.busy)
	fmt.Fprintf(out, "| the same, the reported half alone | ≥ 70 %% | %d of %d |\n", r.busyFound, r.busy)
	fmt.Fprintf(out, "| labelled benign addresses blocked or denied, tuned on; reported | 0; 0 | %d of %d; %d of %d |\n", s.all[tunedOn].blocked, s.all[tunedOn].benign, r.blocked, r.benign)
	if len(s.scenes) == 0 {
		return
	}
	var byOutage []string
	for _, name := range statusOutages {
		v := &s.scene(name).visitors
		byOutage = append(byOutage, fmt.Sprintf("%s %d of %d", name, v.by[blocked], v.addresses))
	}
	fmt.Fprintf(out, "| outages of rules about answers: visitors blocked | ≤ 10 %%, 0.6 %%, 10 %% (a tenth of what is blocked without the guard) | %s |\n", strings.Join(byOutage, ", "))
	attackers := group{}
	for i := range s.scenes {
		if strings.HasSuffix(s.scenes[i].scene.Name, attackedToo) {
			attackers.add(&s.scenes[i].attackers)
		}
	}
	fmt.Fprintf(out, "| attackers in the logs of outages stopped | ≥ 95 %% | %s |\n", attackers.share())
	byOutage = nil
	for _, name := range otherOutages {
		v := &s.scene(name).visitors
		byOutage = append(byOutage, fmt.Sprintf("%s %d of %d blocked, %d denied", name, v.by[blocked], v.addresses, v.by[denied]))
	}
	fmt.Fprintf(out, "| other outages | by higher limits | %s |\n", strings.Join(byOutage, "; "))
	s.printPeople(out)
}

// printPeople prints in how many scenes people are still blocked, and how many kinds
// of attacks pass.
func (s *judged) printPeople(out io.Writer) {
	var stopped [2][]string // blocked, and only denied
	for _, name := range slices.Concat(blockedCrowds, statusOutages, otherOutages) {
		v := &s.scene(name).visitors
		switch {
		case v.by[blocked] > 0:
			stopped[0] = append(stopped[0], name)
		case v.by[denied] > 0:
			stopped[1] = append(stopped[1], name)
		}
	}
	fmt.Fprintf(out, "| the 13 scenes of people who were blocked: blocked; only denied | ≤ 4 | %d (%s); %d (%s) |\n",
		len(stopped[0]), strings.Join(stopped[0], ", "), len(stopped[1]), strings.Join(stopped[1], ", "))
	fates := make(map[string]int)
	for i := range s.scenes {
		if s.scenes[i].scene.Kind == scenes.Attack {
			fates[s.scenes[i].fate()]++
		}
	}
	fmt.Fprintf(out, "| the 20 kinds of attacks: pass | ≤ 10 | %d; %d stopped, %d told |\n", fates["passes"], fates["stopped"], fates["told"])
}

// scene returns the figures of a scene.
func (s *judged) scene(name string) *sceneFigures {
	i := slices.IndexFunc(s.scenes, func(of sceneFigures) bool { return of.scene.Name == name })
	return &s.scenes[i]
}
