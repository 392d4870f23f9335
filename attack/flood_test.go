package attack

import (
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// blocked returns a crossing that made a block of ten minutes.
func blocked(rule string, n int, at time.Time) *Crossing {
	return &Crossing{Rule: rule, Key: network(n), Time: at, Until: at.Add(10 * time.Minute), Kind: Blocked}
}

// A million crossings of 5,000 networks are one row, in bounded memory.
func TestManyCrossings(t *testing.T) {
	var b Book
	for i := range 1_000_000 {
		b.Add(blocked("login", i%5000, epoch.Add(time.Duration(i)*time.Millisecond)))
	}
	rows := b.Rows(epoch.Add(20 * time.Minute))
	if len(rows) != 1 || rows[0].Networks != 5000 || rows[0].Addresses != 5000 || len(rows[0].Members()) != 5000 {
		t.Fatalf("%d rows, %+v", len(rows), rows[0])
	}
}

// Who makes a hundred thousand networks pushes out neither another attack that goes on nor the group's own
// beginning; attacks that have ended leave first.
func TestFloodMovesNothingOut(t *testing.T) {
	var b Book
	b.Add(blocked("old", 60_001, epoch.Add(-3*time.Hour)))
	for i := range 20 {
		b.Add(blocked("login", i, epoch.Add(time.Duration(i)*time.Second)))
	}
	b.Add(blocked("search", 60_002, epoch))
	b.Ended("search", network(60_002), epoch, 3)
	now := epoch
	for i := range 100_000 {
		now = epoch.Add(time.Minute + time.Duration(i)*5*time.Millisecond)
		key := netip.PrefixFrom(netip.AddrFrom4([4]byte{9 + byte(i>>16), byte(i >> 8), byte(i), 1}), 32)
		b.Add(&Crossing{Rule: "site", Key: key, Time: now, Until: now.Add(10 * time.Minute), Kind: Blocked})
		if b.count > mostRuns {
			t.Fatalf("%d runs after %d", b.count, i)
		}
	}
	got := map[string]*Row{}
	for _, row := range b.Rows(now) {
		got[row.Rules[0]] = row
	}
	if got["old"] != nil || got["login"] == nil || got["login"].Networks != 20 || got["search"] == nil || got["search"].Refused != 3 {
		t.Errorf("%+v", got)
	}
	site := got["site"]
	if site == nil || site.Networks != 100_000 || site.Addresses != 100_000 || !site.Began.Equal(epoch.Add(time.Minute)) || len(b.Rows(now)) != 3 {
		t.Errorf("%+v", site)
	}
	n := 0
	for _, runs := range b.runs {
		n += len(runs)
	}
	if n != b.count {
		t.Errorf("%d runs, counted %d", n, b.count)
	}
}

// One network each ten minutes is no group. It keeps one alive, but for a day and a half at most, and a row of one network
// as long: the next is another attack.
func TestDrips(t *testing.T) {
	var drip, alive Book
	for i := range 4 * 24 * 6 { // days
		at := epoch.Add(time.Duration(i) * 10 * time.Minute)
		drip.Add(blocked("login", i, at))
		for alive.count < groupOf {
			alive.Add(blocked("login", 10_000+alive.count, epoch))
		}
		alive.Add(blocked("login", i, at))
		alive.Add(blocked("site", 20_000, at))
	}
	now := epoch.Add(4 * day)
	for _, row := range drip.Rows(now) {
		if row.Group || row.Networks != 1 {
			t.Fatalf("%+v", row)
		}
	}
	groups, site := 0, 0
	for _, row := range alive.Rows(now) {
		if row.Group {
			groups++
		}
		if row.Rules[0] == "site" {
			site++
		}
		if row.Last.Sub(row.Began) > 36*time.Hour {
			t.Errorf("%s goes on for %v", row.ID, row.Last.Sub(row.Began))
		}
	}
	if groups != 1 || site != 5 {
		t.Errorf("%d groups, %d rows of one network", groups, site)
	}
	drip.Forget(now)
	if rows := drip.Rows(now); len(rows) < 100 || len(rows) > 150 {
		t.Errorf("%d rows are kept a day", len(rows))
	}
}

// A thousand rows are kept, and of those that go on the ones that refused most.
func TestManyRows(t *testing.T) {
	var b Book
	for i := range 3000 {
		rule := fmt.Sprint("rule", i)
		b.Add(blocked(rule, i, epoch))
		b.Ended(rule, network(i), epoch, uint64(i))
	}
	rows := b.Rows(epoch)
	if len(rows) > mostRows || len(rows) < mostRows/2 || rows[0].Refused != 2999 || rows[len(rows)-1].Refused != uint64(3000-len(rows)) {
		t.Errorf("%d rows, from %d to %d", len(rows), rows[0].Refused, rows[len(rows)-1].Refused)
	}
}

// Who attacks with as many networks as a book has room for does not move out an attack of which nobody was told yet.
func TestFloodHidesNoNews(t *testing.T) {
	var b Book
	flood := func(rule, n int) {
		name := fmt.Sprint("rule", rule)
		for i := range n {
			b.Add(blocked(name, i, epoch))
			b.Ended(name, network(i), epoch, 9)
		}
	}
	for rule := range mostRuns/mostMembers - 1 {
		flood(rule, mostMembers)
	}
	b.News(epoch, epoch.Add(-Fresh))
	b.Add(blocked("site", 99_999, epoch))
	flood(mostRuns/mostMembers, 2*mostMembers)
	if news := b.News(epoch, epoch.Add(-Fresh)); !slices.ContainsFunc(news, func(r *Row) bool { return r.Rules[0] == "site" }) {
		t.Errorf("it is none of %d that are told", len(news))
	}
}

// A row ends a quarter of an hour after the last refusal, which is asked for while its blocks stand, and goes on
// when a crossing comes within what its blocks reach.
func TestRefusalsKeepItUp(t *testing.T) {
	var b Book
	b.Add(&Crossing{Rule: "site", Key: network(1), Time: epoch, Until: epoch.Add(24 * time.Hour), Kind: Blocked})
	look := func(now time.Time, refused uint64, last time.Time) *Row {
		b.Look(now, func(n netip.Prefix, add func(Standing)) {
			add(Standing{"site", network(1), epoch, refused, last})
			add(Standing{"other", network(1), epoch, 7, last}) // no attack's
			add(Standing{"site", network(2), epoch, 7, last})  // lies elsewhere
		})
		return b.Rows(now)[0]
	}
	now := epoch.Add(5 * time.Hour)
	if row := look(now, 9, now.Add(-time.Minute)); !row.GoesOn(now) || row.Refused != 9 || row.Blocks != 1 || !row.Ended(now).IsZero() {
		t.Errorf("%+v", row)
	}
	later := now.Add(14 * time.Minute)
	if row := look(later, 9, now.Add(-time.Minute)); row.GoesOn(later) || !row.Ended(later).Equal(later) {
		t.Errorf("%+v", row)
	}
	b.Ended("site", network(1), epoch, 12)
	if row := b.Rows(later)[0]; row.Refused != 12 || row.GoesOn(later) {
		t.Errorf("an end counts twice or is no end: %+v", row)
	}
}

// What is no ID, and IDs of odd rules and networks.
func TestIDs(t *testing.T) {
	for _, prefix := range []string{"203.0.113.7/32", "203.0.113.0/24", "203.0.0.0/16", "2001:db8:1:2::/64", "2001:db8:1::/48", "2001:db8::/40", "::/0", "0.0.0.0/0"} {
		for _, rule := range []string{"login", "a_b", "_", "x/../y"} {
			p := place{rule: rule, network: NetworkOf(netip.MustParsePrefix(prefix))}
			got, first, ok := parseID(idOf(p, epoch.Unix()))
			if !ok || got != p || first != epoch.Unix() {
				t.Errorf("%q: %+v %d %v", idOf(p, epoch.Unix()), got, first, ok)
			}
		}
	}
	var b Book
	b.Add(blocked("login", 1, epoch))
	for _, id := range []string{"", "_", "__", "login", "login_8.0.1.0", "login_8.0.1.0_", "login_8.0.1_20260301T120000Z", "login_8.0.1.0-x_20260301T120000Z", "login_8.0.1.0-99_20260301T120000Z",
		"login_fe80::1%eth0_20260301T120000Z", "login_8.0.1.0_20260301T115959Z", "login_8.0.1.0_20260301T122501Z", "site_8.0.1.0_20260301T120000Z"} {
		if row := b.Find(epoch, id); row != nil {
			t.Errorf("%q is %s", id, row.ID)
		}
	}
	if row := b.Find(epoch, "login_8.0.1.0_20260301T120500Z"); row == nil || row.ID != "login_8.0.1.0_20260301T120000Z" {
		t.Errorf("what another node began with is %+v", row)
	}
}

// Times of no clock make no panic, and an invalid key no row.
func TestOddCrossings(t *testing.T) {
	var b Book
	for _, at := range []time.Time{{}, time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)} {
		for _, until := range []time.Time{{}, epoch, time.Unix(1<<41, 0)} {
			b.Add(&Crossing{Rule: "site", Key: network(1), Time: at, Until: until, Kind: Blocked})
		}
	}
	b.Add(&Crossing{Rule: "site", Time: epoch, Kind: Blocked})
	if n := len(b.Rows(epoch)); n != 4 {
		t.Errorf("%d rows", n)
	}
}

// Two nodes that tell each other have the same sums, and know of each other's attacks without blocks. What is heard is
// news to nobody, and is not told on.
func TestNodesTellEachOther(t *testing.T) {
	var a, b Book
	for _, book := range []*Book{&a, &b} {
		book.Add(blocked("site", 1, epoch))
		book.Ended("site", network(1), epoch, 5)
	}
	for i := range 40 {
		b.Add(&Crossing{Rule: "search", Key: network(7), Time: epoch.Add(time.Duration(i) * time.Minute), Kind: Denied})
	}
	for i := range 15 {
		b.Add(&Crossing{Rule: "try", Key: network(20 + i), Time: epoch.Add(30 * time.Minute), Kind: Watched})
	}
	now := epoch.Add(40 * time.Minute)
	for _, book := range []*Book{&a, &b} {
		book.Add(blocked("site", 1, now.Add(-20*time.Minute)))
		book.Add(blocked("site", 1, now.Add(-time.Minute)))
	}
	for range 3 { // again and again
		none := func(netip.Prefix, func(Standing)) {}
		a.Look(now, none)
		b.Look(now, none)
		told, back := b.Figures(now), a.Figures(now)
		a.Hear(now, Told{Figures: told})
		b.Hear(now, Told{Figures: back})
		if again := a.Figures(now); again != back {
			t.Errorf("what it heard is told on:\n%s", again)
		}
	}
	if got, want := fmt.Sprint(shown(&a, now)), fmt.Sprint(shown(&b, now)); got != want {
		t.Errorf("%s\n%s", got, want)
	}
	for _, row := range a.Rows(now) {
		if row.Rules[0] == "site" && row.Refused != 10 || row.Rules[0] == "search" && row.Kinds != Denied {
			t.Errorf("%+v", row)
		}
	}
	if news := a.News(now, now.Add(-Fresh)); len(news) != 0 && news[0].Rules[0] != "site" || len(news) > 1 {
		t.Errorf("%+v", news)
	}
}

// What no node writes changes nothing, in bounded memory.
func TestHostileFigures(t *testing.T) {
	good := func(id string) string { return fmt.Sprintf("%s 1 %d 2 1\n", id, epoch.Unix()) }
	id := idOf(place{rule: "search", network: NetworkOf(network(3))}, epoch.Unix())
	var b Book
	b.Hear(epoch, Told{Figures: good(id)})
	if len(b.Rows(epoch)) != 1 {
		t.Fatal("what a node writes is not heard")
	}
	for _, text := range []string{
		"", "\n", "x", strings.Repeat(good(id), 1000), "x " + good(id), fmt.Sprintf("%s -1 %d 2 1\n", id, epoch.Unix()), fmt.Sprintf("%s 1 %d 0 1\n", id, epoch.Unix()), fmt.Sprintf("%s 1 %d 16 1\n", id, epoch.Unix()),
		fmt.Sprintf("%s 99999999999999999999 %d 2 1\n", id, epoch.Unix()), fmt.Sprintf("%s 1 %d 2 999999999\n", id, epoch.Unix()), fmt.Sprintf("%s 1 %d 2 1\n", id, epoch.Add(time.Hour).Unix()),
		fmt.Sprintf("%s 1 %d 2 1\n", id, epoch.Add(-time.Hour).Unix()), good("search_8.0.3.0_00010101T000000Z"), good("search_8.0.3.0_22610101T000000Z"),
	} {
		var odd Book
		if odd.Hear(epoch, Told{Figures: text}); len(odd.Rows(epoch)) != 0 {
			t.Errorf("%q is heard", text)
		}
	}
	for i := range 300 {
		var text strings.Builder
		for j := range mostTold {
			text.WriteString(good(idOf(place{rule: fmt.Sprint("r", i), network: NetworkOf(network(i*mostTold + j))}, epoch.Unix())))
		}
		b.Hear(epoch, Told{Figures: text.String()})
	}
	if b.count > mostRuns/2+mostTold {
		t.Errorf("%d runs", b.count)
	}
}

// An attack that another node says to have millions of networks takes no memory for them.
func TestToldNetworksTakeNoMemory(t *testing.T) {
	var b Book
	b.Hear(epoch, Told{Figures: fmt.Sprintf("%s 1 %d 2 %d\n", idOf(place{rule: "search", network: NetworkOf(network(3))}, epoch.Unix()), epoch.Unix(), mostNetworks)})
	rows := b.Rows(epoch)
	if len(rows) != 1 || rows[0].Networks != mostNetworks {
		t.Fatalf("%+v", rows)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	members := rows[0].Members()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; len(members) != 1 || took > 1<<20 {
		t.Errorf("%d members, %d bytes", len(members), took)
	}
}

// However many attacks other nodes tell of, and whatever these refused there, one of this node is known and told.
func TestToldMovesNothingOut(t *testing.T) {
	var b Book
	var told []string
	for i := range 30 {
		var text strings.Builder
		for j := range mostTold {
			fmt.Fprintf(&text, "%s %d %d 2 1\n", idOf(place{rule: fmt.Sprint("r", i, "-", j), network: NetworkOf(network(i*mostTold + j))}, epoch.Unix()), 1<<40, epoch.Unix())
		}
		told = append(told, text.String())
	}
	b.Hear(epoch, each(told)...)
	b.Add(blocked("site", 9999, epoch))
	b.Add(blocked("ended", 9998, epoch.Add(-20*time.Hour)))
	if news := b.News(epoch, epoch.Add(-Fresh)); len(news) != 1 || news[0].Rules[0] != "site" {
		t.Errorf("%d attacks are told", len(news))
	}
	for _, c := range []*Crossing{blocked("site", 9999, epoch), blocked("ended", 9998, epoch.Add(-20*time.Hour))} {
		if b.Find(epoch, idOf(place{rule: c.Rule, network: NetworkOf(c.Key)}, c.Time.Unix())) == nil {
			t.Errorf("%s is gone", c.Rule)
		}
	}
}

// Nodes that tell of days of each of their attacks keep the book busy for no longer than honest ones; what they tell
// again is heard then.
func TestToldDaysAreBounded(t *testing.T) {
	var told []string
	for i := range 40 {
		var text strings.Builder
		for j := range mostTold {
			fmt.Fprintf(&text, "%s 1 %d 2 1\n", idOf(place{rule: "search", network: NetworkOf(network(i*mostTold + j))}, epoch.Add(-Memory).Unix()), epoch.Unix())
		}
		told = append(told, text.String())
	}
	var b Book
	b.Hear(epoch, each(told)...)
	once := len(b.runs)
	if most := 1 + mostRuns/int(Memory/quiet); once == 0 || once > most {
		t.Errorf("%d networks are heard at once, at most %d", once, most)
	}
	if b.Hear(epoch, each(told)...); len(b.runs) <= once {
		t.Errorf("%d networks, and %d when told again", once, len(b.runs))
	}
}

// Who unblocks an attack unblocks the blocks of its rules: no node can say that operators' blocks, or another program's,
// are of one, and none can have a name that no rule has.
func TestToldRulesAreRules(t *testing.T) {
	for _, rule := range []string{edgeguard.ManualRule, edgeguard.OwnerRule("fail2ban"), "", "a\x1b[31mb", "a\u202eb", strings.Repeat("a", 65)} {
		var b Book
		if b.Hear(epoch, Told{Figures: fmt.Sprintf("%s 1 %d 2 1\n", idOf(place{rule: rule, network: NetworkOf(network(3))}, epoch.Unix()), epoch.Unix())}); len(b.Rows(epoch)) != 0 {
			t.Errorf("%q is heard", rule)
		}
	}
	for _, id := range []string{"_8.0.3.0_20260301T120000Z", "site_8.0.3.0--1_20260301T120000Z", "site_8.0.3.0-33_20260301T120000Z"} {
		if _, _, _, ok := ParseID(id); ok {
			t.Errorf("%q is an ID", id)
		}
	}
}

func FuzzHear(f *testing.F) {
	f.Add("search_8.0.3.0_20260301T120000Z 1 1772366400 2 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		var b Book
		b.Add(blocked("site", 1, epoch))
		b.Hear(epoch, Told{Figures: text})
		if len(b.Rows(epoch)) > 1+mostTold || len(b.Figures(epoch)) > MostFigures {
			t.Errorf("%d rows", len(b.Rows(epoch)))
		}
	})
}

// each returns what some nodes tell.
func each(texts []string) (all []Told) {
	for i, text := range texts {
		all = append(all, Told{fmt.Sprint("edge-", i+2), text})
	}
	return all
}
