package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edgeguard/presets"
	"edgeguard/rules"
)

var update = flag.Bool("update", false, "write what is measured into the presets")

// measuredPresets are those whose rules carry what people count. The preset xmlrpc is for
// sites without the programs of the scenes, and scan for captures.
const measuredPresets = "web,wordpress,joomla,login,api"

// TestPeople measures what people count by each rule, and holds that the presets say so. It
// goes by both halves of the scenes: no limit that ships is chosen by it, and tune suggests
// none that is lower.
func TestPeople(t *testing.T) {
	skipUnderRace(t)
	sets, err := named([]string{measuredPresets})
	if err != nil {
		t.Fatal(err)
	}
	all := []judged{{ruleset: sets[0], all: newSplit()}}
	if err := judgeScenes(context.Background(), all, 3); err != nil {
		t.Fatal(err)
	}
	measured := all[0].all.both()
	for i := range sets[0].set.Rules {
		rule := &sets[0].set.Rules[i]
		of := measured.rule(rule.Name)
		want := rules.People{Count: of.generated, Scene: of.scene}
		if rule.People == want {
			continue
		}
		if *update {
			writePeople(t, rule.Name, want)
			continue
		}
		t.Errorf("%s says of people %+v, and the scenes show %+v: go test ./loadtest/detection -run TestPeople -update", rule.Name, rule.People, want)
	}
}

// writePeople puts what people count into a preset's file, behind the rule's threshold.
func writePeople(t *testing.T, rule string, people rules.People) {
	t.Helper()
	name, own, _ := strings.Cut(rule, "/")
	file := filepath.Join("..", "..", "presets", "shipped", presets.Shipped().Newest(name).String()+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head := "  - name: " + own + "\n"
	before, body, found := strings.Cut(string(text), head)
	if !found {
		t.Fatalf("%s: not found in %s", rule, file)
	}
	rest := ""
	if end := strings.Index(body, "\n  - name: "); end >= 0 {
		body, rest = body[:end+1], body[end+1:]
	}
	body = regexp.MustCompile(`(?m)^    people: .*\n`).ReplaceAllString(body, "")
	if people.Count > 0 {
		line := fmt.Sprintf("$0    people: {count: %d, scene: %s}\n", people.Count, people.Scene)
		body = regexp.MustCompile(`(?m)^    threshold: .*\n`).ReplaceAllString(body, line)
	}
	if err := os.WriteFile(file, []byte(before+head+body+rest), 0o644); err != nil {
		t.Fatal(err)
	}
}
