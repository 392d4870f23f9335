package tune

import (
	"fmt"

	"edgeguard/internal/words"
	"edgeguard/tuning/evidence"
)

// Rules shows proposed rules as lines for a config.
func (t Text) Rules(proposed []evidence.Proposed) {
	if len(proposed) == 0 {
		return
	}
	fmt.Fprintf(t.Out, "\nproposed: %s for the config; try it with `edgeguard replay` first\n\nrules:\n", words.Plural(len(proposed), "rule", "rules"))
	for i := range proposed {
		fmt.Fprint(t.Out, proposed[i].RuleText())
	}
}

// ruleProposalJSON is a rule that the log asks for.
type ruleProposalJSON struct {
	Type      string `json:"type"`
	Rule      string `json:"rule"`
	Threshold uint32 `json:"threshold"`
	Hostile   int    `json:"hostile"`
	Unknown   int    `json:"unknown"`
	Reason    string `json:"reason"`
	YAML      string `json:"yaml"`
}

func proposalOf(r *evidence.Proposed) ruleProposalJSON {
	above := r.Suggestion.Above
	return ruleProposalJSON{"proposal", r.Spec.Name, r.Spec.Threshold, above.Hostile, above.Unknown, r.Says, r.RuleText()}
}
