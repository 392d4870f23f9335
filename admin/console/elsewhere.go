package console

import (
	"net/netip"
	"net/url"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/internal/words"
)

// waitsForEach is what only an operator on each of the others ends.
const waitsForEach = " Without a fleet key it waits on each of the other nodes until an operator confirms it there."

// blockElsewhere says, before an operator makes a block, what the other nodes of the
// fleet do with it. signed says that the fleet's key signs it.
func blockElsewhere(prefix netip.Prefix, forced, signed bool) string {
	switch {
	case !aggregator.Travels(prefix):
		return " It is in force on this node alone: the others reject what is so wide."
	case forced && signed:
		return " It is signed with the fleet's key: no other node waits for a confirmation, unless all from other nodes is too wide there."
	case !signed && !aggregator.Narrow(prefix):
		return waitsForEach
	}
	return " On another node it waits for a confirmation if it would refuse too large a share of the requests there (fleet.confirm_share, a fifth unless set)."
}

// allowanceElsewhere says what they do with an allowance, as [blockElsewhere] does.
func allowanceElsewhere(prefix netip.Prefix, signed bool) string {
	switch {
	case !aggregator.Travels(prefix):
		return " It is in force on this node alone: the others reject what is so wide."
	case !signed && !aggregator.Narrow(prefix):
		return waitsForEach
	}
	return ""
}

// elsewhereRow is what is in force from one source that is not this node.
type elsewhereRow struct {
	admin.Elsewhere
	Many, Share string
	Path        string // of the records; empty for blocks of other nodes, which no filter finds
}

// elsewhereRows returns a row for each source of the node's figures.
func elsewhereRows(s *admin.Stats) (rows []elsewhereRow) {
	for _, e := range s.Elsewhere {
		row := elsewhereRow{e, words.Plural(e.Records, e.Kind, e.Kind+"s"), "refuse " + words.PercentShare(e.Share), ""}
		switch {
		case e.Kind == "allowance":
			row.Share, row.Path = "spare "+words.PercentShare(e.Share), "/allowed"
		case e.Name != "":
			row.Path = "/blocked?" + url.Values{"rule": {edgeguard.OwnerRule(e.Name)}}.Encode()
		}
		rows = append(rows, row)
	}
	return rows
}
