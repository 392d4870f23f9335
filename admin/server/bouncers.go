package server

import (
	"net/http"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// bouncerAnswers answers what operators ask of the bouncers.
type bouncerAnswers struct {
	node    admin.BouncerOperator
	changes *admin.Changes
}

// list answers with the bouncers.
func (b *bouncerAnswers) list(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, b.node.Bouncers())
	return nil
}

// add makes a key and answers with it.
func (b *bouncerAnswers) add(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.BouncerRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return p
	}
	var added admin.BouncerKey
	p := b.changes.Audited(access.CallerOf(r), "add bouncer", call.Clip(request.Name), func(*string) (p *call.Problem) {
		added, p = b.node.AddBouncer(request)
		return p
	})
	if p == nil {
		call.SendJSON(w, http.StatusCreated, added)
	}
	return p
}

// remove removes a key.
func (b *bouncerAnswers) remove(w http.ResponseWriter, r *http.Request) *call.Problem {
	name := r.PathValue("name")
	p := b.changes.Audited(access.CallerOf(r), "remove bouncer", call.Clip(name), func(*string) *call.Problem { return b.node.RemoveBouncer(name) })
	if p == nil {
		call.SendJSON(w, http.StatusOK, admin.BouncerRemoved{Name: name})
	}
	return p
}
