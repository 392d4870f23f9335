package console

import (
	"cmp"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// nowAttacks is how many attacks the front page shows.
const nowAttacks = 8

// attackRow is an attack of a list.
type attackRow struct {
	admin.Attack
	Who, Path, Of string
	Rows          []link // its rules, with their pages
	GoesOn        bool
	Since, To     string
	Slots         []uint16 // what was refused in each minute of the last hour
	Force         string   // how many of its blocks are in force
}

// attackList is the attacks of a time as the part `attacks` shows them.
type attackList struct {
	Rows    []attackRow
	More    int
	Silent  []string
	Monitor bool
	Live    bool
}

// newAttackList has the first of the attacks, of which those go on that have not ended.
func newAttackList(all []admin.Attack, clock func(time.Time) string, stats *admin.Stats, live bool) *attackList {
	l := &attackList{More: max(0, len(all)-nowAttacks), Monitor: stats.Monitor, Live: live}
	for i := range all[:min(len(all), nowAttacks)] {
		a := &all[i]
		row := attackRow{Attack: *a, GoesOn: a.GoesOn(), Since: clock(a.Began), To: clock(a.Last), Of: words.Plural(a.Addresses, "address", "addresses")}
		row.Who, row.Path = attackName(a), attackPath(a.ID)
		for _, rule := range a.Rules {
			row.Rows = append(row.Rows, link{Name: rule, Path: rulePath(rule)})
		}
		if slices.Max(append([]uint64{0}, a.Minutes...)) > 0 {
			row.Slots = scaled(a.Minutes)
		}
		if a.Blocks > 0 {
			row.Force = words.Plural(a.Blocks, "block", "blocks") + map[bool]string{true: " would be", false: " in force"}[stats.Monitor]
		}
		l.Rows = append(l.Rows, row)
		for _, node := range a.Silent {
			if !slices.Contains(l.Silent, node) {
				l.Silent = append(l.Silent, node)
			}
		}
	}
	return l
}

// scaled fits figures into the slots of a small drawing, which shows their proportions alone.
func scaled(figures []uint64) []uint16 {
	most, slots := cmp.Or(slices.Max(figures), 1), make([]uint16, len(figures))
	for i, n := range figures {
		if slots[i] = uint16(n * 1000 / most); n > 0 && slots[i] == 0 {
			slots[i] = 1
		}
	}
	return slots
}
