package console

import (
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
	Force         string // how many of its blocks are in force
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
		if a.Crowd != nil {
			row.Who, row.Of = upper(row.Who), ""
		}
		for _, rule := range a.Rules {
			row.Rows = append(row.Rows, link{Name: rule, Path: rulePath(rule)})
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
