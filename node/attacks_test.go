package node

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/internal/redistest"
	"edgeguard/notify"
)

// attacks asks for the attacks of the last hour.
func (u *underTest) attacks() []admin.Attack {
	u.t.Helper()
	status, body := u.get("/api/v1/attacks")
	var list admin.AttackList
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 {
		u.t.Fatalf("%d %s", status, body)
	}
	return list.Attacks
}

// attack asks for one attack.
func (u *underTest) attack(id string) (d admin.AttackDetail) {
	u.t.Helper()
	status, body := u.get("/api/v1/attacks/" + id)
	if err := json.Unmarshal([]byte(body), &d); err != nil || status != 200 {
		u.t.Fatalf("%s: %d %s", id, status, body)
	}
	return d
}

// Blocks and crossings are attacks: a network that was blocked with what is refused, one that is denied, a
// group of twelve; none is made by an operator or another program. A restart and a kill have the same.
func TestAttacks(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	for _, addr := range []string{"203.0.113.9", "203.0.113.10"} {
		for range 310 {
			u.request(addr)
		}
	}
	now := u.clock.Now()
	add := func(prefix, rule string) {
		t.Helper()
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: rule, Origin: "edge-2", Since: now, Until: now.Add(time.Hour), Version: 1}
		if _, err := u.list.Merge(b, now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		add(fmt.Sprintf("8.8.%d.1/32", i), "login")
	}
	add("198.51.100.1/32", edgeguard.ManualRule)
	add("198.51.100.2/32", edgeguard.OwnerRule("fail2ban"))
	u.crossed(edgeguard.Crossing{Time: now, Rule: "search", Key: edgeguard.Key{Prefix: netip.MustParsePrefix("9.9.9.9/32")}, Action: edgeguard.ActionDeny, Count: 6, Limit: 5})
	u.crossed(edgeguard.Crossing{Time: now, Rule: "try", Key: edgeguard.Key{Prefix: netip.MustParsePrefix("9.9.8.9/32")}, Action: edgeguard.ActionShadow, Count: 6, Limit: 5})
	u.crossed(edgeguard.Crossing{Time: now, Rule: "search", Key: edgeguard.Key{Prefix: netip.MustParsePrefix("203.0.113.9/32")}, Action: edgeguard.ActionDeny, Stands: "site", Count: 6, Limit: 5})
	brief := func(a *admin.Attack) string {
		return fmt.Sprintf("%v of %d networks, %d addresses, %d blocks, watched %v, denied %v, %v", a.Rules, a.NetworkCount, a.Addresses, a.Blocks, a.Watched, a.Denied, a.GoesOn())
	}
	want := []string{
		"[login] of 12 networks, 12 addresses, 12 blocks, watched false, denied false, true",
		"[search] of 1 networks, 1 addresses, 0 blocks, watched false, denied true, true",
		"[site search] of 1 networks, 2 addresses, 2 blocks, watched false, denied false, true",
		"[try] of 1 networks, 1 addresses, 0 blocks, watched true, denied false, true",
	}
	shown := func(u *underTest) (all []string) {
		for _, a := range u.attacks() {
			all = append(all, brief(&a))
		}
		slices.Sort(all)
		return all
	}
	u.eventually("all are told", func() bool { return slices.Equal(shown(u), want) })
	first := u.attacks()[0]
	if fmt.Sprint(first.Networks) != "[203.0.113.0/24]" {
		t.Errorf("the first is not the one of which something is refused: %+v", first)
	}
	d := u.attack(first.ID)
	if len(d.Active) != 2 || d.Active[0].Refused == nil || d.Refused != uint64(*d.Active[0].Refused+*d.Active[1].Refused) || d.Refused == 0 || d.Into != "" {
		t.Errorf("%+v", d)
	}
	u.eventually("it is on the disk", func() bool { return len(u.past("kind=crossing")) == 3 })
	ids := func(u *underTest) (all []string) {
		for _, a := range u.attacks() {
			all = append(all, a.ID)
		}
		slices.Sort(all)
		return all
	}
	before := ids(u)
	u.stop()
	again := newNode(t, u.folder, oneLog).start()
	again.eventually("they are known again", func() bool { return slices.Equal(ids(again), before) })
	if got := again.attack(first.ID); got.ID != first.ID || !got.Began.Equal(first.Began) {
		t.Errorf("%+v", got)
	}
}

// A receiver is told of an attack once, with its ID: not of the blocks that join it, of groups that take it
// in, or after a restart. Operators' blocks are told one by one.
func TestOneMessageAnAttack(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards told
	var told []notify.Message
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var batch notify.Batch
		if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		told = append(told, batch.Messages...)
	}))
	defer receiver.Close()
	got := func() (all []string) {
		mu.Lock()
		defer mu.Unlock()
		for i := range told {
			all = append(all, fmt.Sprint(told[i].Kind, " ", told[i].Fields.Prefix, " ", told[i].Fields.Attack != ""))
		}
		slices.Sort(all)
		return all
	}
	yaml := oneLog + "notify: {webhooks: [{name: team, send: [blocks], url: '" + receiver.URL + "'}]}\n"
	u := newNode(t, shortDir(t), yaml).start()
	add := func(prefix, rule, origin string) {
		t.Helper()
		now := u.clock.Now()
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: rule, Origin: origin, Since: now, Until: now.Add(time.Hour), Version: 1}
		if _, err := u.list.Merge(b, now); err != nil {
			t.Fatal(err)
		}
	}
	add("203.0.113.9/32", "site", "edge-1")
	want := []string{"attack 203.0.113.9 true"}
	u.eventually("it is told", func() bool { return slices.Equal(got(), want) })
	add("198.51.100.7/32", edgeguard.ManualRule, "edge-1") // this and what follows waits for the next message
	add("9.9.9.9/32", "site", "edge-2")                    // tells it itself
	mu.Lock()
	for i := range told {
		if id := told[i].Fields.Attack; id != "" && u.attack(id).ID != id {
			t.Errorf("%s is not the ID", id)
		}
	}
	mu.Unlock()
	for i := range 12 {
		add(fmt.Sprintf("8.8.%d.1/32", i), "site", "edge-1") // with the first two networks a group
	}
	u.eventually("all are one group", func() bool {
		all := u.attacks()
		return len(all) == 1 && all[0].NetworkCount == 14
	})
	add("203.0.113.10/32", "login", "edge-1") // by another rule
	u.crossed(edgeguard.Crossing{Time: u.clock.Now(), Rule: "search", Key: edgeguard.Key{Prefix: netip.MustParsePrefix("7.7.7.7/32")}, Action: edgeguard.ActionDeny, Count: 6, Limit: 5})
	want = []string{"attack 203.0.113.10 true", "attack 203.0.113.9 true", "attack 7.7.7.0/24 true", "block 198.51.100.7 false"}
	u.eventually("three wait for the next message", func() bool { return u.admin.status.Stats().Notified[0].Waiting == 3 })
	u.stop() // which sends them
	if all := got(); !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
	again := newNode(t, u.folder, yaml).start()
	again.eventually("they are known again", func() bool { return len(again.attacks()) == 3 })
	again.stop()
	if all := got(); !slices.Equal(all, want) {
		t.Errorf("after a restart: %q", all)
	}
}

// Nodes of a fleet have the same attacks, and add up what each refused while somebody looks; one denied on
// another node alone is shown, too.
func TestAttacksOfAFleet(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	for range 310 {
		a.request("203.0.113.9")
	}
	b.eventually("the block comes", func() bool { return b.blocked("203.0.113.9") })
	for range 40 {
		b.request("203.0.113.9")
	}
	here, _, _ := a.list.Refusals(netip.MustParsePrefix("203.0.113.9/32"))
	there, _, _ := b.list.Refusals(netip.MustParsePrefix("203.0.113.9/32"))
	b.crossed(edgeguard.Crossing{Time: b.clock.Now(), Rule: "search", Key: edgeguard.Key{Prefix: netip.MustParsePrefix("9.9.9.9/32")}, Action: edgeguard.ActionDeny, Count: 6, Limit: 5})
	shown := func(u *underTest) (all []string) {
		for _, one := range u.attacks() {
			all = append(all, fmt.Sprint(one.ID, one.Denied, one.Refused, one.Silent))
		}
		return all
	}
	a.eventually("both are known on both", func() bool {
		first, other := shown(a), shown(b)
		return len(first) == 2 && slices.Equal(first, other) && len(a.attacks()[0].Silent) == 0
	})
	if sum := a.attacks()[0].Refused; there != 40 || sum != uint64(here+there) {
		t.Errorf("%d refused here, %d there, %d in all", here, there, sum)
	}
}
