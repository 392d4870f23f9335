package tuned

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
	"edgeguard/internal/realdata"
	"edgeguard/loadtest/scenes"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/sensor/accesslog"
	"edgeguard/shard"
	"edgeguard/tuning/evidence"
)

// homes is a day of 60 homes in which a program fills in a password that was changed: three
// devices each try it two or three times, and somebody types the right one.
func homes(out *bytes.Buffer) {
	for home := range 60 {
		addr := fmt.Sprintf("100.64.3.%d", home)
		at := time.Date(2026, 3, 2, 7, home, 0, 0, time.UTC)
		post := func(status int) {
			fmt.Fprintf(out, "%s - - [%s] \"POST /wp-login.php HTTP/1.1\" %d 512 \"https://harbour.example/wp-login.php\" \"Mozilla/5.0 (Windows NT 10.0) Firefox/139.0\"\n",
				addr, at.Format("02/Jan/2006:15:04:05 -0700"), status)
		}
		for device := range 3 {
			for range 2 + (home+device)%2 {
				post(200)
				at = at.Add(20 * time.Second)
			}
			at = at.Add(4 * time.Hour)
		}
		post(302)
	}
}

// album is 30 people behind one address who each open four pages of 150 pictures.
func album(out *bytes.Buffer) {
	at := time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	for view := range 30 * 4 {
		for picture := range 150 {
			fmt.Fprintf(out, "100.64.4.1 - - [%s] \"GET /album/%d/%d.jpg HTTP/1.1\" 200 9000 \"https://harbour.example/album/%d\" \"Mozilla/5.0 Chrome/137.0\"\n",
				at.Format("02/Jan/2006:15:04:05 -0700"), view%7, picture, view%7)
		}
		at = at.Add(20 * time.Second)
	}
}

// refusedBy returns how many addresses, or networks, of each scene are refused.
func refusedBy(t *testing.T, specs []rules.Spec, played map[string][]edgeguard.Event) map[string]int {
	t.Helper()
	set, problems := rules.Compile(specs)
	if problems != nil {
		t.Fatal(problems)
	}
	refused := make(map[string]int)
	for name, events := range played {
		source := replay.SortByTime(&once{slices.Clone(events)}, 0)
		report, err := replay.Run(context.Background(), source, replay.Config{Rules: set, Memory: shard.NewMemory(256 << 20)})
		if err != nil {
			t.Fatal(err)
		}
		all := make(map[string]bool)
		for i := range report.Rules {
			for _, o := range report.Rules[i].Offenders {
				all[o.Key.Prefix.String()] = true
			}
		}
		refused[name] = len(all)
	}
	return refused
}

// played is traffic of people, by name.
func played(t *testing.T) map[string][]edgeguard.Event {
	t.Helper()
	all := make(map[string][]edgeguard.Event)
	for name, write := range map[string]func(*bytes.Buffer){"homes": homes, "album": album} {
		var text bytes.Buffer
		write(&text)
		all[name] = parsed(t, text.Bytes())
	}
	for _, scene := range scenes.Scenes() {
		if scene.Kind == scenes.Wanted {
			all[scene.Name] = parsed(t, scene.Play(7).Log)
		}
	}
	return all
}

// TestSuggestedSpare applies what is suggested for each log to people who are not in it: none
// is refused whom the rules as they ship do not refuse. It begins with what would: five tries
// a day refuse all of the homes.
func TestSuggestedSpare(t *testing.T) {
	fulltest.Only(t)
	shipped, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	people := played(t)
	before := refusedBy(t, shipped, people)
	if before["homes"] != 0 || before["album"] != 0 {
		t.Errorf("the rules that ship refuse %d homes and %d albums", before["homes"], before["album"])
	}
	strict := slices.Clone(shipped)
	for i := range strict {
		if strict[i].Name == "wordpress/login-day" {
			strict[i].Threshold = 20
		}
	}
	if got := refusedBy(t, strict, map[string][]edgeguard.Event{"homes": people["homes"]})["homes"]; got != 60 {
		t.Errorf("five tries a day refuse %d of 60 homes: the scene says nothing", got)
	}
	tuned := slices.Clone(shipped) // each rule as strict as any log suggests
	for _, log := range weblogs {
		file := realdata.Path(t, log, "access.log.gz")
		open := func() (replay.Source, error) {
			return accesslog.Open(filepath.Clean(file), nil, accesslog.Options{})
		}
		report, book, err := read(context.Background(), open, shipped, func(time.Time) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		all, err := suggest(context.Background(), open, shipped, report, book)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if evidence.Changes(&all[i]) {
				t.Logf("%s: %s %d instead of %d", log, shipped[i].Name, all[i].Threshold, shipped[i].Threshold)
				tuned[i].Threshold = min(tuned[i].Threshold, all[i].Threshold)
			}
		}
	}
	for name, n := range refusedBy(t, tuned, people) {
		if n > before[name] {
			t.Errorf("what is suggested refuses %d of %s, and what ships %d", n, name, before[name])
		}
	}
}

// TestPeopleWhoLogIn: a log in which people log in has a lower limit suggested, and never one
// below what the rule says of people; without them it has none.
func TestPeopleWhoLogIn(t *testing.T) {
	shipped, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	specs := slices.DeleteFunc(slices.Clone(shipped), func(s rules.Spec) bool { return s.Name != "wordpress/login-day" })
	specs[0].People = rules.People{Count: 56, Scene: "office"}
	for _, members := range []int{0, 9, 40} {
		var text bytes.Buffer
		at := time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)
		line := func(addr, request string, status int) {
			at = at.Add(time.Second)
			fmt.Fprintf(&text, "%s - - [%s] \"%s HTTP/1.1\" %d 512 \"-\" \"Mozilla/5.0 Firefox/139.0\"\n", addr, at.Format("02/Jan/2006:15:04:05 -0700"), request, status)
		}
		for n := range 150 {
			addr := fmt.Sprintf("198.51.100.%d", n)
			for picture := range 9 {
				line(addr, fmt.Sprintf("GET /p%d.png", picture), 200)
			}
			if n < members {
				line(addr, "POST /wp-login.php", 200)
				line(addr, "POST /wp-login.php", 302)
			}
		}
		for n := range 20 {
			for range 40 {
				line(fmt.Sprintf("203.0.113.%d", n), "POST /wp-login.php", 200)
			}
		}
		open, labels := innocents(parsed(t, text.Bytes()))
		pairs, err := one(context.Background(), "members", open, specs, labels)
		if err != nil {
			t.Fatal(err)
		}
		s := &pairs[0].Proposal
		switch changes := evidence.Changes(s); {
		case changes != (members == 40):
			t.Errorf("%d members: %+v", members, s)
		case changes && (s.Limit < 84 || s.Threshold%4 != 0):
			t.Errorf("%d members: a limit of %d is below 21 attempts", members, s.Limit)
		}
		t.Logf("%d members: %s", members, s.Reason)
	}
}
