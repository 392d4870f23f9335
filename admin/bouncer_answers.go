package admin

import (
	"net/http"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// BouncerAnswers answers what operators ask of the bouncers.
type BouncerAnswers struct {
	node BouncerOperator
	// audited makes a change if the caller may, and records it.
	audited func(by access.Caller, action, target string, change func(detail *string) *call.Problem) *call.Problem
}

// newBouncerAnswers returns the answers of a node.
func newBouncerAnswers(node BouncerOperator, audited func(access.Caller, string, string, func(*string) *call.Problem) *call.Problem) *BouncerAnswers {
	return &BouncerAnswers{node: node, audited: audited}
}

// List answers with the bouncers.
func (b *BouncerAnswers) List(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, b.node.Bouncers())
	return nil
}

// Add makes a key and answers with it.
func (b *BouncerAnswers) Add(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request BouncerRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return p
	}
	var added BouncerKey
	p := b.audited(access.CallerOf(r), "add bouncer", call.Clip(request.Name), func(*string) (p *call.Problem) {
		added, p = b.node.AddBouncer(request)
		return p
	})
	if p == nil {
		call.SendJSON(w, http.StatusCreated, added)
	}
	return p
}

// Remove removes a key.
func (b *BouncerAnswers) Remove(w http.ResponseWriter, r *http.Request) *call.Problem {
	name := r.PathValue("name")
	p := b.audited(access.CallerOf(r), "remove bouncer", call.Clip(name), func(*string) *call.Problem { return b.node.RemoveBouncer(name) })
	if p == nil {
		call.SendJSON(w, http.StatusOK, BouncerRemoved{Name: name})
	}
	return p
}
