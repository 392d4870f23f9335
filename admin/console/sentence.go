package console

import (
	"cmp"
	"fmt"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/internal/words"
)

// clause is a part of a sentence. Strong is what the eye has to find.
type clause struct {
	Text   string
	Strong bool
}

// sentence says why an address is blocked or not, from the facts of its
// explanation and the evidence of its block. A clause whose fact is missing is left out.
func sentence(e *admin.Explanation, found *admin.Evidence, monitor bool, waits *admin.HeldBlock) []clause {
	switch {
	case e.Block != nil:
		return blockedSentence(e, found, monitor)
	case waits != nil:
		return []clause{{"Not blocked: the block awaits confirmation", true}, {because(waits), false}}
	case e.Standing == "allowed":
		return []clause{{"Never blocked", true}, {": " + e.Because + ". Its requests are not counted.", false}}
	case e.Standing == "protected":
		return []clause{{"Protected", true}, {": " + e.Because + ". It is blocked by force only.", false}}
	}
	return quietSentence(e)
}

// because says why a record is held.
func because(h *admin.HeldBlock) string {
	if h.Share > 0 {
		return fmt.Sprintf(", because it would refuse %s of this node's requests.", words.PercentShare(h.Share))
	}
	return ". " + h.Origin + " made it; an operator has to confirm it here."
}

func blockedSentence(e *admin.Explanation, found *admin.Evidence, monitor bool) []clause {
	b := e.Block
	until := at(b.Until, e.Time).Clock
	verb := "Blocked by "
	if monitor {
		verb = "Would be blocked by "
	}
	var all []clause
	switch {
	case !b.Prefix.IsSingleIP() && b.Rule == edgeguard.ManualRule:
		all = append(all, clause{fmt.Sprintf("%s is inside %s, which was blocked by hand", e.Address, b.Prefix), true},
			clause{fmt.Sprintf(" on %s at %s%s.", b.Origin, at(b.Since, e.Time).Clock, quoted(b.Reason)), false})
	case b.Rule == edgeguard.ManualRule:
		all = append(all, clause{verb + "hand", true}, clause{fmt.Sprintf(" on %s at %s%s. No rule is involved.", b.Origin, at(b.Since, e.Time).Clock, quoted(b.Reason)), false})
	case b.Owner != "":
		strong, rest := whyBlocked(b, e.Address.String(), verb, at(b.Since, e.Time).Clock)
		all = append(all, clause{strong, true}, clause{rest, false})
	default:
		all = append(all, clause{fmt.Sprintf("%srule %s: %s", verb, b.Rule, crossing(e, &b.Block)), true},
			madeBy(&b.Block, found, e))
	}
	if monitor {
		all = append(all, clause{" This node is in monitor mode: nothing is refused.", true})
	}
	all = append(all, refused(b, monitor)...)
	if b.Imported {
		return all // its end moves on with each fetch
	}
	return append(all, clause{fmt.Sprintf(" It ends at %s on its own.", until), false})
}

// refused says what came since the block began and what became of it, as far as this node
// knows. A list that has the block refuses nothing by itself: who goes by it does.
func refused(b *admin.ActiveBlock, monitor bool) (all []clause) {
	n := uint32(0)
	if b.Refused != nil {
		n = *b.Refused
	}
	events := clause{refusals(n), true}
	switch {
	case n == 0:
		all = append(all, clause{" Since then nothing of it came to this node.", false})
	case monitor:
		all = append(all, clause{" Since then this node would have refused ", false}, events, clause{".", false})
	case b.Asked >= n && b.Served == 0:
		all = append(all, clause{" Since then this node refused ", false}, events, clause{".", false})
	default:
		all = append(append(all, clause{" Since then the verdict on ", false}, events, clause{" was to refuse: ", false}), became(b, n)...)
	}
	switch {
	case b.RefusedBy != "" && n == 0:
		all = append(all, clause{" It is in " + b.RefusedBy + ": what is refused by that may never come here.", false})
	case b.RefusedBy != "":
		all = append(all, clause{" It is also in " + b.RefusedBy + ".", false})
	}
	return all
}

// became says what became of n events of which some were known too late to refuse them.
func became(b *admin.ActiveBlock, n uint32) (all []clause) {
	add := func(count uint32, text string, strong bool) {
		if count == 0 {
			return
		}
		if len(all) > 0 {
			all = append(all, clause{", ", false})
		}
		all = append(all, clause{fmt.Sprintf(text, words.Number(count)), strong})
	}
	add(b.Served, "%s served, as a log shows", true)
	add(b.TurnedAway, "%s turned away, as a log shows", false)
	told := min(n, b.Served+b.TurnedAway) // a log tells of what a proxy asked about, too
	asked := min(n, max(b.Asked, told)) - told
	add(asked, "%s refused by this node", false)
	add(n-told-asked, "of %s it is not known", false)
	return append(all, clause{".", false})
}

func refusals(n uint32) string { return words.Plural(n, "event", "events") + " of it" }

// crossing says how many were counted and how many the limit allows.
func crossing(e *admin.Explanation, b *admin.Block) string {
	counted := b.Unit.Of(b.Count)
	for i := range e.Rules {
		if c := &e.Rules[i]; c.Rule == b.Rule {
			counted += " in " + words.Seconds(c.Window)
		}
	}
	return fmt.Sprintf("%s, and the limit is %s", counted, b.Unit.Amount(b.Limit))
}

func quoted(reason string) string {
	if reason == "" {
		return ""
	}
	return ": “" + reason + "”"
}

// makerOf says in a sentence who made a block of a rule.
func makerOf(rule string) string {
	switch owner := edgeguard.Owner(rule); {
	case rule == edgeguard.ManualRule:
		return "hand"
	case owner != "":
		return "the program " + owner
	}
	return "rule " + rule
}

// blockMaker says who makes the blocks of a rule, as it stands in a row.
func blockMaker(rule string, imported bool) string {
	owner := edgeguard.Owner(rule)
	if imported {
		return "list " + owner
	}
	return cmp.Or(owner, rule)
}

// whyBlocked says why an address is blocked by an owner's block: what the eye has to find, and the
// rest. verb is "Blocked by ".
func whyBlocked(b *admin.ActiveBlock, address, verb, since string) (strong, rest string) {
	if !b.Imported {
		return fmt.Sprintf("%sthe program %s", verb, b.Owner), fmt.Sprintf(" on %s at %s%s. No rule is involved.", b.Origin, since, quoted(b.Reason))
	}
	if b.Owner == "crowdsec" {
		return verb + "a decision of CrowdSec", fmt.Sprintf(", on this node alone, since %s%s. It cannot be unblocked here. To let %s in, allow it, or delete the decision there: cscli decisions delete.", since, quoted(b.Reason), address)
	}
	inside := ""
	if !b.Prefix.IsSingleIP() {
		inside = fmt.Sprintf(" It is inside %s.", b.Prefix)
	}
	return fmt.Sprintf("%sthe imported list %s", verb, b.Owner), fmt.Sprintf(", on this node alone, since %s%s.%s It cannot be unblocked here: the next fetch of the list would bring it back. "+
		"To let %s in, allow it, or have the entry removed from the list.", since, quoted(b.Reason), inside, address)
}

// quietSentence names the rule that an address is nearest to.
func quietSentence(e *admin.Explanation) []clause {
	nearest := -1
	for i := range e.Rules {
		if c := &e.Rules[i]; c.Count > 0 && (nearest < 0 || ratio(c) > ratio(&e.Rules[nearest])) {
			nearest = i
		}
	}
	if nearest < 0 {
		return []clause{{"Not blocked, and nothing is counted.", true}}
	}
	c := &e.Rules[nearest]
	text := fmt.Sprintf(" The nearest is rule %s: %s, %s.", c.Rule, c.Unit.Beside(c.Count, c.Limit), words.Percent(c.Count, c.Limit))
	switch {
	case c.Forgeable:
		text += " These are packets that anybody can forge: they raise alarms and block no address."
	case c.Action == edgeguard.ActionShadow:
		text += " That rule only reports."
	case ratio(c) > 1 && c.Fleet == nil && c.Asked:
		text += " It is over, by answers: requests that meet its terms but the status are refused where a proxy asks, until it is under the limit."
	case ratio(c) > 1 && c.Fleet == nil:
		text += " It is over: the verdict on its requests is to refuse them until it is under the limit."
	}
	return []clause{{"Not blocked.", true}, {text, false}}
}

func ratio(c *admin.RuleCount) float64 { return float64(c.Count) / float64(max(c.Limit, 1)) }
