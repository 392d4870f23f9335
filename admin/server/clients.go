package server

import (
	"net/http"
	"net/netip"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// clientAnswers answers what operators say of the clients.
type clientAnswers struct {
	node    admin.ClientOperator
	changes writes
}

// list answers with the networks of clients.
func (c *clientAnswers) list(w http.ResponseWriter, r *http.Request) *call.Problem {
	if _, p := call.ReadQuery(r); p != nil {
		return p
	}
	call.SendJSON(w, http.StatusOK, c.node.Clients())
	return nil
}

// add names a network.
func (c *clientAnswers) add(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.ClientRequest
	if p := c.changes.body(w, r, "add client", &request); p != nil {
		return p
	}
	named, p := c.change(r, "add client", request.Prefix, request.Reason, c.node.AddClient)
	return answered(w, http.StatusCreated, named, p)
}

// remove takes back what was said of a network.
func (c *clientAnswers) remove(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := c.changes.parameters(r, "remove client", "reason")
	if p != nil {
		return p
	}
	removed, p := c.change(r, "remove client", r.PathValue("prefix"), q["reason"], c.node.RemoveClient)
	return answered(w, http.StatusOK, removed, p)
}

func (c *clientAnswers) change(r *http.Request, action, text, reason string, do func(netip.Prefix) (admin.Client, *call.Problem)) (done admin.Client, p *call.Problem) {
	p = c.changes.Audited(access.CallerOf(r), action, call.Clip(text), func(detail *string) *call.Problem {
		if p := call.CheckReason(reason); p != nil {
			return p
		}
		*detail = reason
		prefix, p := call.ParsePrefix("prefix", text)
		if p == nil {
			done, p = do(prefix)
		}
		return p
	})
	return done, p
}
