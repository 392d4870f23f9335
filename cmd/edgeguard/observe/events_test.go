package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/safetext"
)

// What another node, or who writes to Redis, wrote into an event acts on no terminal.
func TestHostileEvents(t *testing.T) {
	const hostile = "a\x1b[2J\u202eb\r\nforged"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, e := range []admin.Event{
		{Time: now, Kind: admin.EventBlock, Block: &admin.Block{Rule: hostile, Origin: hostile, Reason: hostile, Count: 6, Limit: 5}},
		{Time: now, Kind: admin.EventUnblock, Block: &admin.Block{Origin: hostile, Reason: hostile}},
		{Time: now, Kind: admin.EventAllow, Allowance: &admin.Allowance{Origin: hostile, Reason: hostile}},
		{Time: now, Kind: admin.EventDisallow, Allowance: &admin.Allowance{Origin: hostile, Reason: hostile}},
		{Time: now, Kind: admin.EventAlarm, Name: hostile, Text: hostile},
		{Time: now, Kind: hostile, Text: hostile},
		{Kind: admin.EventGap, Text: hostile},
		{Time: now, Kind: admin.EventEnd, Block: &admin.Block{Rule: hostile}, Ended: &admin.Ended{Why: hostile, Refused: 7}},
		{Time: now, Kind: admin.EventChange, Change: &admin.Audit{User: hostile, Action: hostile, Target: hostile, Detail: hostile, Result: hostile}},
		{Time: now, Kind: admin.EventCrossing, Crossing: &admin.Crossed{Key: hostile, Rule: hostile, Action: hostile, Stands: hostile}},
	} {
		var out bytes.Buffer
		if err := printEvent(&command.Env{Stdout: &out}, &e); err != nil {
			t.Fatal(err)
		}
		if line, ok := strings.CutSuffix(out.String(), "\n"); !ok || !safetext.Clean(line) || !strings.Contains(line, "forged") {
			t.Errorf("%s: %q", e.Kind, out.String())
		}
	}
}

// What a long change goes on with is not told as another change.
func TestListed(t *testing.T) {
	e := admin.Event{Kind: admin.EventListed, Change: &admin.Audit{Action: "import", Prefixes: make([]netip.Prefix, 1023)}}
	if got := Describe(&e); got != "1,023 more prefixes of the change before" {
		t.Error(got)
	}
}

// What comes is printed once and in order, through pages, an answer that fails, and a node
// that begins again; what is asked for goes on behind what was read.
func TestEventsGoOn(t *testing.T) {
	answers := []string{
		`{"events":[{"id":"3","kind":"alarm","name":"a"}],"next":"3","newest":"9"}`,
		`{"events":[{"id":"7","kind":"alarm","name":"b"}],"newest":"9"}`,
		"", "",
		`{"events":[],"newest":"11"}`,
		`{"events":[{"id":"12","kind":"alarm","name":"c"},{"id":"13","kind":"alarm","name":"d"}],"newest":"13"}`,
	}
	var mu sync.Mutex // each connection is served by a goroutine of its own
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Query().Get("cursor"))
		answer := answers[0]
		if answers = answers[1:]; answer == "" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	node, err := client.New(client.Config{Address: strings.TrimPrefix(server.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	var out bytes.Buffer
	o := chosen{follow: true, most: 4}
	if err := o.read(); err != nil {
		t.Fatal(err)
	}
	o.query.Since = time.Now().Add(-time.Hour)
	if err := print(t.Context(), &command.Env{Stdout: &out, JSON: true}, node, &o); err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(out.String()) {
		var e admin.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	if got, want := fmt.Sprint(names, asked), "[a b c d] [ 3 9 9 9 11]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A node that was never reached is an error, and so is what a flag cannot mean.
func TestEventsErrors(t *testing.T) {
	node, err := client.New(client.Config{Address: "unix:/nowhere/admin.sock"})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	if err := print(t.Context(), &command.Env{Stdout: io.Discard}, node, &chosen{follow: true}); err == nil {
		t.Error("no error without a node")
	}
	for _, o := range []chosen{{address: "here"}, {kinds: []string{"visit"}}, {most: -1}} {
		if o.read() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
