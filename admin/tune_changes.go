package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// RuleChanges is what operators change of rules, for the API and for pages. R is a rule
// as the API shows it. Each method records the change and its end, and returns
// the rule after it: the zero value of one that the config does not have. Make one
// with New.
type RuleChanges[R any] struct {
	tuner   Tuner
	audited Audited
	rule    func(name string) R
}

// Audited makes a change if the caller may, and records it with its detail.
type Audited func(by access.Caller, action, target string, change func(detail *string) *call.Problem) *call.Problem

// newRuleChanges returns the changes that a tuner makes. rule returns a rule as it is now.
func newRuleChanges[R any](tuner Tuner, audited Audited, rule func(name string) R) *RuleChanges[R] {
	return &RuleChanges[R]{tuner, audited, rule}
}

// SetThreshold puts another threshold of a rule in force.
func (c *RuleChanges[R]) SetThreshold(ctx context.Context, by access.Caller, rule string, request ThresholdRequest) (R, *call.Problem) {
	return c.change(by, "threshold", rule, func(detail *string) *call.Problem {
		if p := checkNote(request.Note); p != nil {
			return p
		}
		if request.IfThreshold == 0 {
			return call.NewProblem(http.StatusBadRequest, "if_threshold", "is missing", "set it to the threshold that is in force, so that no change of another is lost")
		}
		if p := checkScope(request.Scope); p != nil {
			return p
		}
		was, p := c.tuner.SetThreshold(ctx, rule, cmp.Or(by.User, by.Who), request)
		*detail = fmt.Sprintf("%d → %d", cmp.Or(was, request.IfThreshold), request.Threshold)
		if request.Scope == ScopeFleet {
			*detail += " on the whole fleet"
		}
		*detail = describe(*detail, request.Note, request.Force)
		return p
	})
}

// EndOverlay puts the config's threshold of a rule in force again.
func (c *RuleChanges[R]) EndOverlay(by access.Caller, rule string) (R, *call.Problem) {
	return c.change(by, "end overlay", rule, func(detail *string) *call.Problem {
		was, now, p := c.tuner.EndOverlay(rule)
		if was > 0 {
			*detail = fmt.Sprintf("%d → %d", was, now)
		}
		return p
	})
}

// EndFleet undoes a threshold of the whole fleet.
func (c *RuleChanges[R]) EndFleet(by access.Caller, rule string, force bool) (R, *call.Problem) {
	return c.change(by, "end fleet threshold", rule, func(detail *string) *call.Problem {
		was, now, p := c.tuner.EndFleet(rule, cmp.Or(by.User, by.Who), force)
		if was > 0 {
			*detail = describe(fmt.Sprintf("%d → %d", was, now), "", force)
		}
		return p
	})
}

// FleetOffered returns why thresholds cannot be set for the whole fleet; nil if they
// can.
func (c *RuleChanges[R]) FleetOffered() *call.Problem { return c.tuner.FleetOffered() }

// AddCandidate counts another threshold beside that in force.
func (c *RuleChanges[R]) AddCandidate(by access.Caller, rule string, threshold uint32, request CandidateRequest) (R, *call.Problem) {
	return c.change(by, "add candidate", rule, func(detail *string) *call.Problem {
		if p := checkNote(request.Note); p != nil {
			return p
		}
		*detail = describe(strconv.Itoa(int(threshold)), request.Note, false)
		return c.tuner.AddCandidate(rule, cmp.Or(by.User, by.Who), threshold, request.Note)
	})
}

// RemoveCandidate ends that.
func (c *RuleChanges[R]) RemoveCandidate(by access.Caller, rule string, threshold uint32) (R, *call.Problem) {
	return c.change(by, "remove candidate", rule, func(detail *string) *call.Problem {
		*detail = strconv.Itoa(int(threshold))
		return c.tuner.RemoveCandidate(rule, threshold)
	})
}

func (c *RuleChanges[R]) change(by access.Caller, action, rule string, do func(detail *string) *call.Problem) (after R, p *call.Problem) {
	if p = c.audited(by, action, call.Clip(rule), do); p == nil {
		after = c.rule(rule)
	}
	return after, p
}

// describe is a change in words, for the audit.
func describe(what, note string, force bool) string {
	if note != "" {
		what += ", note: " + note
	}
	if force {
		what += ", forced"
	}
	return what
}

// checkScope refuses a scope that is none.
func checkScope(scope string) *call.Problem {
	if scope == "" || scope == ScopeNode || scope == ScopeFleet {
		return nil
	}
	return call.NewProblem(http.StatusBadRequest, "scope", strconv.Quote(call.Clip(scope))+" is not a scope", "use node or fleet")
}

// checkNote refuses what would garble a log.
func checkNote(note string) *call.Problem {
	p := call.CheckReason(note)
	if p != nil {
		p.Field = "note"
	}
	return p
}
