package server

import (
	"net/http"

	"edgeguard/admin"
	"edgeguard/admin/call"
)

// getFleet sends the state of the node in its fleet.
func (s *reads) getFleet(w http.ResponseWriter, _ *http.Request) *call.Problem {
	fleet := s.Reader().Stats().Fleet
	if fleet == nil {
		return noFleet()
	}
	call.SendJSON(w, http.StatusOK, admin.FleetDetail{Fleet: *fleet, Nodes: append([]admin.FleetNode{}, s.Reader().FleetNodes()...)})
	return nil
}

// getFleetHeld asks the other nodes what they hold, and sends it: the record of
// one prefix, or all. It waits for their next heartbeats.
func (s *reads) getFleetHeld(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "prefix")
	if p != nil {
		return p
	}
	prefix, p := q.Prefix("prefix")
	if p != nil {
		return p
	}
	fleet := s.Reader().Stats().Fleet
	if fleet == nil {
		return noFleet()
	}
	held, err := s.Reader().FleetHeld(r.Context())
	if err != nil {
		return call.NewProblem(http.StatusServiceUnavailable, "", "the other nodes cannot be asked: "+err.Error(), "see `edgeguard blocks held` on each node")
	}
	if prefix.IsValid() {
		held = held.Of(prefix)
	}
	call.SendJSON(w, http.StatusOK, held)
	return nil
}

func noFleet() *call.Problem {
	return call.NewProblem(http.StatusNotFound, "", "this node is not in a fleet", "set fleet.redis in the config")
}
