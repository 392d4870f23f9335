package fleetlink

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

var (
	start = time.Unix(1_800_000_000, 0)
	wide  = netip.MustParsePrefix("203.0.0.0/16")
)

// beat is a node's heartbeat that was sent so long after the look it is compared
// with, and has read so many changes more.
func beat(node string, later time.Duration, changes int64, held int, waits ...netip.Prefix) aggregator.Heartbeat {
	h := aggregator.Heartbeat{Node: node, Boot: node + "1", Run: "1", At: start.Add(later), Changes: 100 + changes}
	h.SetHeldRecords(held, waits)
	return h
}

func shown(f admin.FleetHeld) string {
	out := fmt.Sprint(f.Alive, ":")
	for _, n := range f.Nodes {
		out += fmt.Sprint(" ", n.Name, " ", n.State, " ", n.Held)
	}
	return out
}

// What heartbeats say, and whether they say it of the list as it was asked about.
func TestJudge(t *testing.T) {
	from := &fleet.Look{Now: start, Changes: 100}
	unsaid, other := beat("b", 1, 0, 0), beat("b", 1, 0, 0)
	unsaid.Held, other.Boot = nil, "b2"
	restarted := beat("b", -time.Second, 0, 0)
	restarted.Boot = "b0"
	for _, c := range []struct {
		name  string
		beats []aggregator.Heartbeat
		want  string
		all   bool
	}{
		{"alone", nil, "1:", true},
		{"only its own", []aggregator.Heartbeat{beat("a", 1, 0, 5, wide)}, "1:", true},
		{"holds nothing", []aggregator.Heartbeat{beat("b", 1, 0, 0)}, "2:", true},
		{"holds", []aggregator.Heartbeat{beat("c", 1, 7, 3, wide), beat("b", 1, 0, 1, wide)}, "3: b holds 1 c holds 3", true},
		{"of before", []aggregator.Heartbeat{beat("b", 0, 0, 0)}, "2: b silent 0", false},
		{"of an earlier list", []aggregator.Heartbeat{beat("b", time.Second, -1, 0)}, "2: b silent 0", false},
		{"reads the list", []aggregator.Heartbeat{unsaid}, "2: b silent 0", false},
		{"restarted", []aggregator.Heartbeat{restarted, beat("b", 1, 0, 0)}, "2:", true},
		{"restarted, in another order", []aggregator.Heartbeat{beat("b", 1, 0, 0), restarted}, "2:", true},
		{"two of one name", []aggregator.Heartbeat{other, beat("b", 1, 0, 1, wide)}, "2: b holds 1", true},
		{"one of two is silent", []aggregator.Heartbeat{beat("b", 1, 0, 1, wide), beat("c", -1, 0, 0)}, "3: b holds 1 c silent 0", false},
	} {
		got, all := judge(&fleet.Look{Now: start.Add(time.Second), Changes: 200, Alive: c.beats}, "a", from)
		if shown(got) != c.want || all != c.all {
			t.Errorf("%s: %s, all %v, want %s, %v", c.name, shown(got), all, c.want, c.all)
		}
	}
}

// An answer is bounded, however many heartbeats somebody writes.
func TestJudgeBounded(t *testing.T) {
	var beats []aggregator.Heartbeat
	for i := range mostNodes + 100 {
		beats = append(beats, beat(fmt.Sprint("n", i), 1, 0, 1, wide))
	}
	got, _ := judge(&fleet.Look{Alive: beats}, "a", &fleet.Look{Now: start, Changes: 100})
	if len(got.Nodes) != mostNodes || got.Alive != len(beats)+1 {
		t.Errorf("%d of %d", len(got.Nodes), got.Alive)
	}
}

// fake is a fleet whose node b sends a heartbeat every two seconds, and c does for as
// long as it lives.
type fake struct {
	published, dies time.Duration // since the beginning
	fails           error
	looks           int
}

func (f *fake) look(ctx context.Context) (fleet.Look, error) {
	f.looks++
	after := time.Since(start2000)
	if f.fails != nil {
		return fleet.Look{}, f.fails
	}
	look := fleet.Look{Now: start.Add(after), Changes: 100, Unsent: after < f.published}
	node := func(name string, at time.Duration, waits ...netip.Prefix) {
		if at >= f.published { // it has read the change
			look.Alive = append(look.Alive, beat(name, at, 1, len(waits), waits...))
		} else {
			look.Alive = append(look.Alive, beat(name, at, 0, 0))
		}
	}
	if after >= f.published {
		look.Changes++
	}
	node("a", after)
	node("b", after.Truncate(2*time.Second), wide)
	node("c", min(after, f.dies).Truncate(2*time.Second)+time.Millisecond)
	return look, nil
}

// start2000 is when a synctest bubble begins.
var start2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name  string
		fleet fake
		ask   time.Duration // when
		want  string
		takes time.Duration // at most
	}{
		{"all answer", fake{dies: time.Hour}, 0, "3: b holds 1", 2*time.Second + again},
		{"just after a heartbeat", fake{dies: time.Hour}, 3 * time.Second, "3: b holds 1", 2*time.Second + settle + again},
		{"it takes long to publish", fake{published: 1900 * time.Millisecond, dies: time.Hour}, 0, "3: b holds 1", 4*time.Second + again},
		{"one was killed", fake{dies: time.Second}, 2 * time.Second, "3: b holds 1 c silent 0", patience},
		{"nothing is published", fake{published: time.Hour, dies: time.Hour}, 0, "0: " + errUnsent.Error(), patience},
		{"cut off", fake{fails: errors.New("cut off")}, 0, "0: cut off", settle},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(c.ask)
			asker, began := &heldAsker{Look: c.fleet.look}, time.Now()
			got, err := asker.Ask(t.Context(), "a")
			text := shown(got)
			if err != nil {
				text += " " + err.Error()
			}
			if took := time.Since(began); text != c.want || took > c.takes {
				t.Errorf("%s: %s after %v, want %s within %v", c.name, text, took, c.want, c.takes)
			}
		})
	}
}

// Many who ask at once cost Redis no more than one, and who goes away does not wait.
func TestAskTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := &fake{dies: time.Hour}
		asker := &heldAsker{Look: nodes.look}
		answers := make(chan string)
		for range 100 {
			go func() {
				got, err := asker.Ask(t.Context(), "a")
				answers <- strings.TrimSpace(shown(got) + " " + fmt.Sprint(err))
			}()
		}
		for range 100 {
			if got := <-answers; got != "3: b holds 1 <nil>" {
				t.Error(got)
			}
		}
		if most := int(patience / again); nodes.looks > most {
			t.Errorf("%d looks, want at most %d", nodes.looks, most)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if _, err := asker.Ask(gone, "a"); err == nil || time.Since(began) != 0 {
			t.Errorf("who is gone: %v after %v", err, time.Since(began))
		}
	})
}
