package node

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/eventlog"
	"edgeguard/node/alarm"
)

// past asks for what happened.
func (u *underTest) past(query string) (all []admin.Event) {
	u.t.Helper()
	for cursor := ""; ; {
		status, body := u.get("/api/v1/history?dir=asc&limit=1000&" + query + cursor)
		var page admin.PastPage
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != 200 {
			u.t.Fatalf("%d %s", status, body)
		}
		if all = append(all, page.Events...); page.Next == "" {
			return all
		}
		cursor = "&cursor=" + page.Next
	}
}

// in returns an event in short.
func inShort(e *admin.Event) string {
	switch {
	case e.Ended != nil:
		return fmt.Sprintf("%s %s %s %d", e.Kind, e.Block.Prefix, e.Ended.Why, e.Ended.Refused)
	case e.Block != nil:
		return fmt.Sprintf("%s %s %s", e.Kind, e.Block.Prefix, e.Block.Rule)
	case e.Change != nil:
		return fmt.Sprintf("%s %s %d", e.Kind, e.Change.Action, len(e.Change.Prefixes))
	}
	return e.Kind
}

// A block's end has what it refused, by a lift as in time, and is read after a restart and a
// kill, at the address too.
func TestEndsAreKept(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	u := newNode(t, folder, oneLog+"samples: 0\n").start()
	for range 310 {
		u.request("203.0.113.9")
	}
	if !u.blocked("203.0.113.9") {
		t.Fatal("not blocked")
	}
	if _, ok := u.view().Unblock(netip.MustParsePrefix("203.0.113.9/32"), "a customer"); !ok {
		t.Fatal("not lifted")
	}
	now := u.clock.Now()
	short := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Rule: "site", Origin: "edge-1", Since: now, Until: now.Add(time.Millisecond), Version: 1}
	if _, err := u.list.Merge(short, now); err != nil {
		t.Fatal(err)
	}
	want := "block 203.0.113.9/32 site, unblock 203.0.113.9/32 lifted 10, block 198.51.100.7/32 site, end 198.51.100.7/32 time 0"
	all := func() string {
		var got []string
		for _, e := range u.past("kind=block,unblock,end") {
			got = append(got, inShort(&e))
		}
		return strings.Join(got, ", ")
	}
	u.eventually("both have ended: "+all(), func() bool { return all() == want })
	file := filepath.Join(folder, "state", eventsFolder, "blocks-0000000000000001.log")
	u.eventually("it is on the disk", func() bool { return strings.Contains(read(t, file), "\"end\"") })
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	killed := newNode(t, u.killed(), oneLog).start()
	u.stop()
	for _, u = range []*underTest{killed, newNode(t, folder, oneLog).start()} {
		if got := all(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if e := u.past("prefix=203.0.113.0/24&rule=site"); len(e) != 2 || e[1].Block.Count != 301 || e[1].Block.Reason != "a customer" {
			t.Errorf("of a network: %+v", e)
		}
	}
}

// Neither an import of thousands nor a flood of crossings costs an operator's change or a
// block, an import is one change for each request with its list, and what was left out of
// the crossings is said.
func TestFloodsMoveNothing(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	u.post("/api/v1/blocks", `{"prefix":"203.0.113.7","reason":"scraper"}`)
	const requests, each = 4, 5_000
	for i := range requests {
		var entries []string
		for j := range each {
			entries = append(entries, fmt.Sprintf(`{"prefix":"100.%d.%d.%d"}`, 64+i, j/256, j%256))
		}
		u.post("/api/v1/blocks/import", `{"blocks":[`+strings.Join(entries, ",")+`]}`)
	}
	const crossings = 30_000
	for i := range crossings {
		key := edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{8, 8, byte(i >> 8), byte(i)}), 32)}
		u.crossed(edgeguard.Crossing{Time: u.clock.Now(), Rule: "site", Key: key, Action: edgeguard.ActionDeny, Count: 6, Limit: 5})
		if i%1000 == 0 { // among them
			u.changed(edgeguard.Block{Prefix: key.Prefix, Rule: "site", Origin: "edge-1", Since: u.clock.Now(), Until: u.clock.Now().Add(time.Hour)})
		}
	}
	kept, left := 0, uint64(0)
	u.eventually("all are kept or said to be left out", func() bool {
		kept, left = len(u.past("kind=crossing")), 0
		for _, e := range u.past("kind=left_out") {
			var n uint64
			_, _ = fmt.Sscanf(e.Text, "%d more", &n)
			left += n
		}
		return uint64(kept)+left == crossings
	})
	if kept == 0 || left == 0 {
		t.Errorf("%d kept, %d left out", kept, left)
	}
	if n := len(u.past("kind=block")); n != 1+crossings/1000 {
		t.Errorf("%d blocks", n)
	}
	changes, listed := u.past("kind=change"), 0
	for _, e := range u.past("kind=change,listed") {
		listed += len(e.Change.Prefixes)
	}
	if len(changes) != 1+requests || listed != requests*each {
		t.Errorf("%d changes with %d prefixes", len(changes), listed)
	}
	if e := u.past("prefix=100.65.0.9"); len(e) != 1 || inShort(&e[0]) != "change import 1023" {
		t.Errorf("of an imported one: %+v", e)
	}
}

// A change of many is kept with its whole list, also where that is more than may wait for the disk,
// and so is what its blocks refused.
func TestLiftedByRuleIsKept(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	const blocks = 70_000
	now := u.clock.Now()
	for i := range blocks {
		b := edgeguard.Block{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{8, byte(i >> 16), byte(i >> 8), byte(i)}), 32), Rule: "long", Origin: "edge-1", Since: now, Until: now.Add(time.Hour)}
		if _, _, err := u.list.Add(b, true, now); err != nil {
			t.Fatal(err)
		}
	}
	for range 310 {
		u.request("203.0.113.9")
	}
	for _, rule := range []string{"long", "site"} {
		u.send(http.MethodDelete, "/api/v1/blocks?rule="+rule, "") // under the race detector a command's client gives up
	}
	u.stop()
	u = newNode(t, u.folder, oneLog).start()
	listed := 0
	for _, e := range u.past("kind=change,listed") {
		listed += len(e.Change.Prefixes)
	}
	if listed != blocks+1 {
		t.Errorf("%d of %d blocks are listed", listed, blocks+1)
	}
	if got := u.past("kind=unblock"); len(got) != 1 || inShort(&got[0]) != "unblock 203.0.113.9/32 lifted 10" {
		t.Errorf("%+v", got)
	}
}

// What finds no room while the disk refuses is said once it does not: where that is said has no
// room before, either, and would be left out each second.
func TestLeftOutIsSaidWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "events")
	log, said := eventlog.New(eventlog.Config{Folder: folder, Bytes: 64 << 20, Keep: time.Hour}), uint64(0)
	k := &eventKeeper{log: log, clock: clockguard.New(clockguard.Read(), clockguard.Config{}), alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {})}
	k.leftOut = func(n uint64) { said += n }
	k.open()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	lost := uint64(0)
	for i := range 30 { // they wait for the disk
		if log.Add(eventlog.Crossings, eventlog.Entry{Time: time.Now(), Body: make([]byte, 10_000+i)}) == 0 {
			lost++
		}
	}
	if k.flush(); said > 0 || lost == 0 {
		t.Errorf("%d lost, and %d said to be while the disk refuses", lost, said)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	_ = log.Close(time.Now())
	if err := log.Open(); err != nil {
		t.Fatal(err)
	}
	if k.flush(); said != lost {
		t.Errorf("%d of %d were said to be left out", said, lost)
	}
}

// A reload that changes how much is kept says that it takes a restart.
func TestReloadOfKept(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	u.must(u.Reload())
	if strings.Contains(u.log.String(), "need a restart") {
		t.Error("of the same config")
	}
	u.yaml += "keep_events_for: 1h\n"
	u.must(u.Reload())
	if !strings.Contains(u.log.String(), "keep_events_for need a restart") {
		t.Error("nothing says that keep_events_for needs a restart")
	}
}
