package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// kernelAnswers answers what operators ask of the packet filter.
type kernelAnswers struct {
	node    admin.KernelOperator
	changes *admin.Changes
}

// state answers with the state.
func (k *kernelAnswers) state(w http.ResponseWriter, _ *http.Request) *call.Problem {
	return answerKernel(w)(k.node.Kernel())
}

// try begins a trial.
func (k *kernelAnswers) try(w http.ResponseWriter, r *http.Request) *call.Problem {
	return k.change(w, r, "try kernel", func(detail *string) (none admin.KernelState, p *call.Problem) {
		var request admin.TrialRequest
		if p := call.ReadBody(w, r, &request); p != nil {
			return none, p
		}
		lasts, p := trialLasts(&request)
		if p != nil {
			return none, p
		}
		spare, p := trialSpares(&request)
		if p != nil {
			return none, p
		}
		*detail = fmt.Sprintf("for %s, %d addresses spared by name", lasts, len(spare))
		return k.node.TryKernel(r.Context(), lasts, spare)
	})
}

// trialLasts returns how long a trial is to last.
func trialLasts(r *admin.TrialRequest) (time.Duration, *call.Problem) {
	if r.For == "" {
		return admin.DefaultTrial, nil
	}
	lasts, err := call.ParseSpan(r.For)
	if err != nil || lasts < admin.LeastTrial || lasts > admin.LongestTrial {
		return 0, call.NewProblem(http.StatusBadRequest, "for", fmt.Sprintf("%q is not a time from %s to %s", call.Clip(r.For), admin.LeastTrial, admin.LongestTrial), "use 5m")
	}
	return lasts, nil
}

// trialSpares returns the addresses that are to be spared.
func trialSpares(r *admin.TrialRequest) (all []netip.Addr, p *call.Problem) {
	if len(r.Spare) > admin.MostSpared {
		return nil, call.NewProblem(http.StatusBadRequest, "spare", fmt.Sprintf("has %d addresses", len(r.Spare)), fmt.Sprintf("send at most %d", admin.MostSpared))
	}
	for _, text := range r.Spare {
		addr, p := call.ParseAddr("spare", text)
		if p != nil {
			return nil, p
		}
		all = append(all, addr)
	}
	return all, nil
}

// confirm ends a trial: what it put in force stays.
func (k *kernelAnswers) confirm(w http.ResponseWriter, r *http.Request) *call.Problem {
	return k.change(w, r, "confirm kernel", func(*string) (admin.KernelState, *call.Problem) { return k.node.ConfirmKernel() })
}

// pause empties the packet filter.
func (k *kernelAnswers) pause(w http.ResponseWriter, r *http.Request) *call.Problem {
	by := access.CallerOf(r)
	return k.change(w, r, "pause kernel", func(*string) (admin.KernelState, *call.Problem) {
		return k.node.PauseKernel(r.Context(), clearedBy(by.User))
	})
}

// clearedBy says who emptied the packet filter, where that is known.
func clearedBy(user string) string {
	if user == "" {
		return "cleared by an operator"
	}
	return "cleared by an operator (" + user + ")"
}

// resume ends a pause.
func (k *kernelAnswers) resume(w http.ResponseWriter, r *http.Request) *call.Problem {
	return k.change(w, r, "resume kernel", func(*string) (admin.KernelState, *call.Problem) { return k.node.ResumeKernel() })
}

// change makes a change, records it and answers with the state after it.
func (k *kernelAnswers) change(w http.ResponseWriter, r *http.Request, action string, change func(detail *string) (admin.KernelState, *call.Problem)) *call.Problem {
	var after admin.KernelState
	p := k.changes.Audited(access.CallerOf(r), action, "", func(detail *string) (p *call.Problem) {
		after, p = change(detail)
		return p
	})
	return answerKernel(w)(after, p)
}

// answerKernel returns what sends a state, or returns the problem.
func answerKernel(w http.ResponseWriter) func(admin.KernelState, *call.Problem) *call.Problem {
	return func(s admin.KernelState, p *call.Problem) *call.Problem {
		if p == nil {
			call.SendJSON(w, http.StatusOK, s)
		}
		return p
	}
}
