package metrics

import (
	"slices"

	"edgeguard"
	"edgeguard/admin"
)

// blockParts are the list of blocks and allowances, and what is imported of others' lists.
var blockParts = []part{
	each(theNode,
		counter("blocks_total", "Blocks created or changed; action shadow in mode monitor, origin local, manual or fleet.",
			"rule action origin", func(s *scrape, to series) {
				for b, n := range made(s) {
					add(to, n, b.Rule, s.blocking(), b.Origin)
				}
			}),
		counter("unblocks_total", "Blocks lifted by hand: on this node (manual), or another (fleet).", "reason",
			func(s *scrape, to series) {
				addEach(to, begun(s.happened.Lifted, admin.Manual, admin.FromFleet))
			}),
		gauge("blocked_ips", "Active blocks; a prefix counts as one.", "rule action origin family", func(s *scrape, to series) {
			for b, n := range s.standing {
				add(to, n, b.Rule, s.blocking(), b.Origin, b.family)
			}
		}),
		gauge("allowances", "Active allowances made at run time.", "", func(s *scrape, to series) { add(to, s.Allowances) }),
		gauge("blocks_limit", "The highest number of active blocks (max_blocks).", "", func(s *scrape, to series) { add(to, s.MaxBlocks) }),
		gauge("blocks_standing", "Active blocks of all kinds.", "", func(s *scrape, to series) { add(to, s.V4+s.V6) }),
		counter("blocks_evicted_total", "Blocks evicted because the limit was reached.", "", func(s *scrape, to series) { add(to, s.Evicted) }),
		counter("blocks_forgotten_total", "Ends of blocks forgotten early for want of room.", "", func(s *scrape, to series) { add(to, s.Forgotten) }),
		gauge("imported_limit", "The highest number of entries of all imported lists (max_imported).", "", func(s *scrape, to series) { add(to, s.Imports.Most) }),
		gauge("elsewhere_request_ratio", "Part of the requests of the last five minutes that blocks refuse, or allowances spare, which this node did not make: of nodes_signed, nodes_unsigned, owner, list.",
			"source kind", func(s *scrape, to series) {
				for of, sum := range elsewhere(s) {
					add(to, sum, of.name, of.kind)
				}
			}),
	),
	each(func(s *scrape) []admin.ImportFeed { return s.Imports.Feeds },
		gauge("imported_blocks", "Entries of an imported list that are in force, on this node only.", "source", func(f admin.ImportFeed, to series) { add(to, f.InForce, f.Name) }),
		gauge("imported_refused", "Entries of an imported list that are not in force: kept (protected or allowed), too_wide, invalid, ended, no_room.", "source reason",
			func(f admin.ImportFeed, to series) {
				f.Refused.Each(func(reason string, n int) { add(to, n, f.Name, reason) })
			}),
	),
}

// made returns the blocks that were made, with those that can be: see [begun].
func made(s *scrape) map[admin.MadeBy]uint64 {
	can := []admin.MadeBy{{Rule: edgeguard.ManualRule, Origin: admin.Manual}}
	for i := range s.rules {
		if r := &s.rules[i]; r.Action == edgeguard.ActionBlock.String() {
			can = append(can, admin.MadeBy{Rule: r.Name, Origin: admin.FromHere})
		}
	}
	if s.Fleet != nil {
		for _, b := range slices.Clone(can) {
			can = append(can, admin.MadeBy{Rule: b.Rule, Origin: admin.FromFleet})
		}
	}
	return begun(s.happened.Made, can...)
}

// standingBy is what active blocks are counted by.
type standingBy struct {
	admin.MadeBy
	family string
}

type elsewhereBy struct{ name, kind string }

// elsewhere returns what blocks and allowances do that the node did not make: of all owners,
// and of all lists, together. An owner's name is whatever it says.
func elsewhere(s *scrape) map[elsewhereBy]float64 {
	sums := make(map[elsewhereBy]float64)
	for _, e := range s.Elsewhere {
		sums[elsewhereBy{e.Source, e.Kind}] += e.Share
	}
	return sums
}
