package attack

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func network(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{8, byte(n >> 8), byte(n), 7}), 32)
}

// form is the reference: what package attack says, step by step.
func form(all []Crossing) (rows []string) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y Crossing) int {
		return cmp.Or(x.Time.Compare(y.Time), strings.Compare(x.Rule, y.Rule), NetworkOf(x.Key).Compare(NetworkOf(y.Key)))
	})
	type part struct { // of a row: the crossings of a rule and network
		rule         string
		network      netip.Prefix
		everybody    string // its ID, for a key without an address
		first, reach time.Time
	}
	midnight := func(first, at time.Time) bool { return at.Truncate(24*time.Hour).Sub(first) >= 12*time.Hour }
	var parts []*part
	latest := map[string]*part{}
	for _, c := range all { // step 1
		reach := c.Time.Add(15 * time.Minute)
		if c.Until.After(c.Time) {
			reach = reach.Add(min(c.Until.Sub(c.Time), time.Hour))
		}
		key := fmt.Sprint(c.Rule, NetworkOf(c.Key), c.Everybody, c.With)
		if p := latest[key]; p != nil && !c.Time.After(p.reach) && !midnight(p.first, c.Time) {
			if reach.After(p.reach) {
				p.reach = reach
			}
			continue
		}
		latest[key] = &part{rule: c.Rule, network: NetworkOf(c.Key), first: c.Time, reach: reach}
		if sum := sha256.Sum256([]byte(c.With)); c.Everybody {
			latest[key].everybody = fmt.Sprintf("everybody-%x", sum[:8])
		}
		parts = append(parts, latest[key])
	}
	slices.SortStableFunc(parts, func(x, y *part) int {
		return cmp.Or(x.first.Compare(y.first), x.network.Compare(y.network), strings.Compare(x.rule, y.rule))
	})
	type row struct{ parts []*part }
	takes := func(r *row, p *part) bool {
		reach := r.parts[0].reach
		for _, q := range r.parts {
			if q.reach.After(reach) {
				reach = q.reach
			}
		}
		return !p.first.After(reach) && !midnight(r.parts[0].first, p.first)
	}
	var made []*row
	groups, single := map[string]*row{}, []*part{}
	waiting := map[string][]*part{}
	for _, p := range parts {
		if p.everybody != "" { // step 5
			rows = append(rows, fmt.Sprintf("%s_%s_%s [%s] 0 networks", p.rule, p.everybody, p.first.Format(idTime), p.rule))
		}
	}
	parts = slices.DeleteFunc(parts, func(p *part) bool { return p.everybody != "" })
	for _, p := range parts { // step 2
		if g := groups[p.rule]; g != nil && takes(g, p) {
			g.parts = append(g.parts, p)
			continue
		}
		delete(groups, p.rule)
		var near []*part
		distinct := map[netip.Prefix]bool{}
		for _, q := range append(waiting[p.rule], p) {
			if p.first.Sub(q.first) <= 10*time.Minute {
				near = append(near, q)
				distinct[q.network] = true
			} else {
				single = append(single, q)
			}
		}
		waiting[p.rule] = near
		if len(distinct) >= 10 {
			groups[p.rule] = &row{near}
			made, waiting[p.rule] = append(made, groups[p.rule]), nil
		}
	}
	for _, rest := range waiting {
		single = append(single, rest...)
	}
	slices.SortStableFunc(single, func(x, y *part) int { return cmp.Or(x.first.Compare(y.first), strings.Compare(x.rule, y.rule)) })
	of := map[netip.Prefix]*row{}
	for _, p := range single { // step 3
		if r := of[p.network]; r != nil && takes(r, p) {
			r.parts = append(r.parts, p)
			continue
		}
		of[p.network] = &row{[]*part{p}}
		made = append(made, of[p.network])
	}
	for _, r := range made {
		rules, networks := map[string]bool{}, map[netip.Prefix]bool{}
		for _, p := range r.parts {
			rules[p.rule], networks[p.network] = true, true
		}
		rows = append(rows, fmt.Sprintf("%s_%s_%s %v %d networks", r.parts[0].rule, r.parts[0].network.Addr(), r.parts[0].first.Format(idTime), slices.Sorted(maps.Keys(rules)), len(networks)))
	}
	slices.Sort(rows)
	return rows
}

func shown(b *Book, now time.Time) (rows []string) {
	for _, r := range b.Rows(now) {
		rules := slices.Clone(r.Rules)
		slices.Sort(rules)
		rows = append(rows, fmt.Sprintf("%s %v %d networks", r.ID, rules, r.Networks))
	}
	slices.Sort(rows)
	return rows
}

// randomly returns crossings of few rules and networks over some days, with groups among them.
func randomly(r *rand.Rand, n int) (all []Crossing) {
	span := []time.Duration{time.Minute, 20 * time.Minute, 3 * time.Hour, 30 * time.Hour, 100 * time.Hour}[r.IntN(5)]
	rules, networks := []string{"login", "site", "sc_an"}, []int{3, 12, 40, 200}[r.IntN(4)]
	for range n {
		at := epoch.Add(time.Duration(r.Int64N(int64(span)))).Truncate(time.Second)
		c := Crossing{Rule: rules[r.IntN(1+r.IntN(3))], Key: network(r.IntN(networks)), Time: at, Kind: Watched << r.IntN(4)}
		if r.IntN(5) == 0 {
			c.Key, c.Everybody, c.With, c.Kind = netip.Prefix{}, true, []string{"", "path=/login", "path=/x y=2"}[r.IntN(3)], Watched
		}
		if c.Kind == Blocked {
			c.Until = at.Add([]time.Duration{time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}[r.IntN(4)])
		}
		all = append(all, c)
	}
	return all
}

// A book has the rows of the set of its crossings, in whatever order they come, and how often.
func TestBookIsOfTheSet(t *testing.T) {
	groups, cuts, crowds := 0, 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := randomly(r, 1+r.IntN(150))
		want := form(all)
		var b Book
		for _, i := range append(r.Perm(len(all)), r.Perm(len(all))...) {
			b.Add(&all[i])
			if r.IntN(50) == 0 {
				b.Rows(epoch) // made in between
			}
		}
		got := shown(&b, epoch)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, row := range b.Rows(epoch) {
			if row.Group {
				groups++
			}
			if row.Everybody {
				crowds++
			}
			if row.Began.Equal(row.Began.Truncate(24*time.Hour)) || row.Began.Day() > 1 {
				cuts++
			}
			if b.Find(epoch, row.ID) != row {
				t.Fatalf("seed %d: %s is not found", seed, row.ID)
			}
		}
		for i := range all { // whichever crossing another node began its row with
			if b.Find(epoch, idOf(placeOf(&all[i]), all[i].Time.Unix())) == nil {
				t.Fatalf("seed %d: nothing is found of %+v", seed, all[i])
			}
		}
	}
	if groups < 100 || cuts < 100 || crowds < 100 {
		t.Errorf("%d groups, %d crowds, %d rows of later days: the runs show nothing", groups, crowds, cuts)
	}
}
