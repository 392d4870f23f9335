package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// SetThreshold puts another threshold of a rule in force. It returns the rule after
// that, as the others here do: the zero value of one that the config does not have.
func (c *Changes) SetThreshold(ctx context.Context, by access.Caller, rule string, request ThresholdRequest) (Rule, *call.Problem) {
	return c.changeRule(by, "threshold", rule, func(detail *string) *call.Problem {
		if p := checkNote(request.Note); p != nil {
			return p
		}
		if request.IfThreshold == 0 {
			return call.NewProblem(http.StatusBadRequest, "if_threshold", "is missing", "set it to the threshold that is in force, so that no change of another is lost")
		}
		if p := checkScope(request.Scope); p != nil {
			return p
		}
		if p := checkEnd(c.view.reader.Now(), &request); p != nil {
			return p
		}
		was, p := c.operator.SetThreshold(ctx, rule, by.Person(), request)
		if request.Threshold > 0 {
			*detail = fmt.Sprintf("%d → %d", cmp.Or(was, request.IfThreshold), request.Threshold)
		}
		if request.Action != "" {
			*detail = strings.TrimPrefix(*detail+", action "+request.Action, ", ")
		}
		if request.For != "" {
			*detail += " for " + request.For
		}
		if request.Scope == ScopeFleet {
			*detail += " on the whole fleet"
		}
		*detail = describe(*detail, request.Note, request.Force)
		return p
	})
}

// EndOverlay puts the config's threshold of a rule in force again.
func (c *Changes) EndOverlay(by access.Caller, rule string) (Rule, *call.Problem) {
	return c.changeRule(by, "end overlay", rule, func(detail *string) *call.Problem {
		was, now, p := c.operator.EndOverlay(rule)
		if was > 0 {
			*detail = fmt.Sprintf("%d → %d", was, now)
		}
		return p
	})
}

// EndFleet undoes a threshold of the whole fleet.
func (c *Changes) EndFleet(by access.Caller, rule string, force bool) (Rule, *call.Problem) {
	return c.changeRule(by, "end fleet threshold", rule, func(detail *string) *call.Problem {
		was, now, p := c.operator.EndFleet(rule, by.Person(), force)
		if was > 0 {
			*detail = describe(fmt.Sprintf("%d → %d", was, now), "", force)
		}
		return p
	})
}

// FleetOffered returns why thresholds cannot be set for the whole fleet; nil if they
// can.
func (c *Changes) FleetOffered() *call.Problem { return c.operator.FleetOffered() }

// AddCandidate counts another threshold beside that in force.
func (c *Changes) AddCandidate(by access.Caller, rule string, threshold uint32, request CandidateRequest) (Rule, *call.Problem) {
	return c.changeRule(by, "add candidate", rule, func(detail *string) *call.Problem {
		if p := checkNote(request.Note); p != nil {
			return p
		}
		*detail = describe(strconv.Itoa(int(threshold)), request.Note, false)
		return c.operator.AddCandidate(rule, by.Person(), threshold, request.Note)
	})
}

// RemoveCandidate ends that.
func (c *Changes) RemoveCandidate(by access.Caller, rule string, threshold uint32) (Rule, *call.Problem) {
	return c.changeRule(by, "remove candidate", rule, func(detail *string) *call.Problem {
		*detail = strconv.Itoa(int(threshold))
		return c.operator.RemoveCandidate(rule, threshold)
	})
}

func (c *Changes) changeRule(by access.Caller, action, rule string, do func(detail *string) *call.Problem) (after Rule, p *call.Problem) {
	if p = c.Audited(by, action, call.Clip(rule), do); p == nil {
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

// checkEnd refuses an action that no rule can be given, and a time that is none.
func checkEnd(now time.Time, request *ThresholdRequest) *call.Problem {
	if request.Action != "" && request.Action != edgeguard.ActionShadow.String() {
		return call.NewProblem(http.StatusBadRequest, "action", strconv.Quote(call.Clip(request.Action))+" cannot be set while a node runs", "use shadow, or change the config and reload")
	}
	if request.For == "" {
		return nil
	}
	_, p := call.Until(now, request.For, time.Time{}, 0)
	if lasts, _ := call.ParseSpan(request.For); p == nil && lasts < time.Second {
		p = call.NewProblem(http.StatusBadRequest, "for", call.Clip(request.For)+" is under a second", "use 1m or more")
	}
	return p
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
