package neighbours

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/blocklist/imported"
	"edgeguard/node/alarm"
)

// ImportedLists joins what a node's set of imported blocks knows of each source with what
// the services know that fetch them. It is safe for concurrent use.
type ImportedLists struct {
	Set     *imported.Set
	Most    func() int // max_imported
	Feeders []admin.ImportFeeder
	Epoch   func(time.Time) time.Time
	Alarms  *alarm.Tracker
}

// Summary returns all feeds by their names.
func (i *ImportedLists) Summary() admin.Imports {
	out := admin.Imports{Most: i.Most(), Feeds: []admin.ImportFeed{}}
	if l := i.Set.Blocks(); l != nil {
		out.Blocks = l.Len()
	}
	known := make(map[string]admin.ImportFeed)
	for _, one := range i.Set.Stats() {
		f := admin.ImportFeed{Name: one.Source, InForce: one.InForce, Refused: admin.ImportRefusals(one.Refused)}
		if !one.Taken.IsZero() {
			f.Changed = i.Epoch(one.Taken).UTC()
		}
		known[one.Source] = f
	}
	for _, feeder := range i.Feeders {
		for _, f := range feeder.Feeds() {
			if slices.ContainsFunc(out.Feeds, func(other admin.ImportFeed) bool { return other.Name == f.Name }) {
				continue // the set cannot tell them apart
			}
			held := known[f.Name]
			left := f.Refused // by the feeder, before the set saw it
			f.InForce, f.Refused, f.Changed = held.InForce, held.Refused, held.Changed
			f.Refused.TooWide += left.TooWide
			f.Refused.Invalid += left.Invalid
			f.Refused.NoRoom += left.NoRoom
			out.Feeds = append(out.Feeds, f)
			delete(known, f.Name)
		}
	}
	for _, f := range known {
		out.Feeds = append(out.Feeds, f)
	}
	slices.SortFunc(out.Feeds, func(a, b admin.ImportFeed) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// ConfirmImport implements [admin.ImportOperator].
func (i *ImportedLists) ConfirmImport(name string) *call.Problem {
	for _, feeder := range i.Feeders {
		for _, f := range feeder.Feeds() {
			if f.Name != name {
				continue
			}
			if err := feeder.Confirm(name); err != nil {
				return call.NewProblem(http.StatusConflict, "name", err.Error(), "`edgeguard blocklists` shows what awaits confirmation")
			}
			return nil
		}
	}
	return call.NewProblem(http.StatusConflict, "name", "nothing of "+name+" awaits confirmation", "`edgeguard blocklists` shows what does")
}

// Report adds the figures.
func (i *ImportedLists) Report(s *admin.Stats) { s.Imports = i.Summary() }

// Check raises the alarm about entries for which there is no room, or ends it.
func (i *ImportedLists) Check(now time.Time) {
	left, names := 0, 0
	for _, one := range i.Set.Stats() {
		if left += one.NoRoom; one.NoRoom > 0 {
			names++
		}
	}
	if left == 0 {
		i.Alarms.Ends(alarm.Imported, "")
		return
	}
	i.Alarms.Begins(now, alarm.Imported, "", fmt.Sprintf("%d entries of %d imported lists are not blocked: max_imported (%d) is reached; raise it, or remove a list", left, names, i.Most()))
}
