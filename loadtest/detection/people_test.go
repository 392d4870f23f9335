package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/internal/fulltest"
	"edgeguard/loadtest/scenes"
	"edgeguard/presets"
	"edgeguard/rules"
)

var update = flag.Bool("update", false, "write what is measured into the presets")

// measuredPresets are those whose rules carry what people count. The preset xmlrpc is for
// sites without the programs of the scenes, and scan for captures.
const measuredPresets = "web,wordpress,joomla,login,api"

// overLimit are the rules that stop somebody in a scene, with these scenes. Who is over the limit
// is no measure of whom a lower one would spare.
//   - crawler-migration is the crawler that docs/detection.md says is stopped.
//   - administrator and administrator-php are no Joomla: packages leave the rule out.
var overLimit = map[string][]string{"web/scripts-any": {"crawler-migration"}, "joomla/login-day": {"administrator", "administrator-php"}}

// TestPeople measures what people count by each rule, and holds that the presets say so. It
// goes by both halves of the scenes: tune suggests no limit that is lower.
func TestPeople(t *testing.T) {
	fulltest.Only(t)
	sets, err := named([]string{measuredPresets})
	if err != nil {
		t.Fatal(err)
	}
	all := []judged{{ruleset: sets[0], all: newSplit()}}
	people := slices.DeleteFunc(scenes.Scenes(), func(s scenes.Scene) bool { return s.Kind != scenes.Wanted })
	if err := judgeScenes(context.Background(), all, people, 3); err != nil {
		t.Fatal(err)
	}
	measured := all[0].all.both()
	for i := range sets[0].set.Rules {
		rule := &sets[0].set.Rules[i]
		of := measured.rule(rule.Name)
		for _, scene := range overLimit[rule.Name] {
			if of.scenes[scene] <= rule.Limit {
				t.Errorf("%s: %s counts %d of %d: it is listed, and not over the limit", rule.Name, scene, of.scenes[scene], rule.Limit)
			}
		}
		of = of.but(overLimit[rule.Name])
		if rule.Action != edgeguard.ActionShadow && of.generated > rule.Limit {
			t.Errorf("%s: %s counts %d of %d, and is not listed", rule.Name, of.scene, of.generated, rule.Limit)
		}
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
