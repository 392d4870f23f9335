package server

import (
	"cmp"
	"net/http"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// writes answers what operators change.
type writes struct {
	*admin.Changes
	imports func() admin.Imports // as they are now
}

// body reads a request's JSON. What cannot be read is recorded as a change that
// failed.
func (s writes) body(w http.ResponseWriter, r *http.Request, action string, into any) *call.Problem {
	p := call.ReadBody(w, r, into)
	if p == nil {
		return nil
	}
	return s.Audited(access.CallerOf(r), action, call.Clip(r.PathValue("prefix")), func(*string) *call.Problem { return p })
}

// parameters reads those of a removal.
func (s writes) parameters(r *http.Request, action string, known ...string) (call.Query, *call.Problem) {
	q, p := call.ReadQuery(r, known...)
	if p != nil {
		return q, s.Audited(access.CallerOf(r), action, call.Clip(r.PathValue("prefix")), func(*string) *call.Problem { return p })
	}
	return q, p
}

// answered sends what was changed, or returns why it was not.
func answered(w http.ResponseWriter, status int, changed any, p *call.Problem) *call.Problem {
	if p == nil {
		call.SendJSON(w, status, changed)
	}
	return p
}

func (s writes) addBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.BlockRequest
	if p := s.body(w, r, "block", &request); p != nil {
		return p
	}
	made, p := s.Block(access.CallerOf(r), request)
	return answered(w, http.StatusCreated, made, p)
}

func (s writes) extendBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.ExtendRequest
	if p := s.body(w, r, "extend", &request); p != nil {
		return p
	}
	extended, p := s.Extend(access.CallerOf(r), r.PathValue("prefix"), request)
	return answered(w, http.StatusOK, extended, p)
}

func (s writes) removeBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := s.parameters(r, "unblock", "reason", "owner")
	if p != nil {
		return p
	}
	var lifted admin.Block
	if owner, given := q["owner"]; given {
		lifted, p = s.UnblockOwned(access.CallerOf(r), r.PathValue("prefix"), owner, q["reason"])
	} else {
		lifted, p = s.Unblock(access.CallerOf(r), r.PathValue("prefix"), q["reason"])
	}
	return answered(w, http.StatusOK, lifted, p)
}

// removeBlocks lifts the blocks of a selection.
func (s writes) removeBlocks(w http.ResponseWriter, r *http.Request) *call.Problem {
	selection, q, p := admin.ReadSelection(r, "reason", "dry_run")
	return s.removeMany(w, r, &selection, q, p)
}

// removeAllowances takes back the allowances of a batch.
func (s writes) removeAllowances(w http.ResponseWriter, r *http.Request) *call.Problem {
	selection, q, p := admin.ReadAllowances(r, "reason", "dry_run")
	return s.removeMany(w, r, &selection, q, p)
}

// removeMany takes back what a selection has, if its parameters are right.
func (s writes) removeMany(w http.ResponseWriter, r *http.Request, selection *admin.Selection, q call.Query, p *call.Problem) *call.Problem {
	if p = cmp.Or(p, q.OneOf("dry_run", "true", "false")); p != nil {
		return s.Audited(access.CallerOf(r), selection.Action(), "", func(*string) *call.Problem { return p })
	}
	lifted, p := s.UnblockMany(r.Context(), access.CallerOf(r), selection, q["reason"], q["dry_run"] == "true")
	return answered(w, http.StatusOK, lifted, p)
}

// undoMany puts back what a change lifted, by the name that its record has.
func (s writes) undoMany(w http.ResponseWriter, r *http.Request) *call.Problem {
	name, ok := edgeguard.ParseBatchID(r.PathValue("batch"))
	if !ok {
		name = 0 // of no change
	}
	restored, p := s.RestoreMany(access.CallerOf(r), name)
	return answered(w, http.StatusOK, restored, p)
}

func (s writes) addAllowance(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.AllowRequest
	if p := s.body(w, r, "allow", &request); p != nil {
		return p
	}
	made, p := s.Allow(access.CallerOf(r), request)
	return answered(w, http.StatusCreated, made, p)
}

func (s writes) removeAllowance(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := s.parameters(r, "disallow", "reason")
	if p != nil {
		return p
	}
	lifted, p := s.Disallow(access.CallerOf(r), r.PathValue("prefix"), q["reason"])
	return answered(w, http.StatusOK, lifted, p)
}

func (s writes) confirm(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.ConfirmRequest
	if p := s.body(w, r, "confirm", &request); p != nil {
		return p
	}
	confirmed, p := s.Confirm(access.CallerOf(r), request)
	return answered(w, http.StatusOK, confirmed, p)
}

// sign reads a body without a record of one that it cannot read: it may only count.
func (s writes) sign(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.SignRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return p
	}
	signed, p := s.Sign(access.CallerOf(r), request)
	return answered(w, http.StatusOK, signed, p)
}

func (s writes) reload(w http.ResponseWriter, r *http.Request) *call.Problem {
	return answered(w, http.StatusOK, admin.Reloaded{OK: true}, s.Reload(r.Context(), access.CallerOf(r)))
}
