package admin

import (
	"net/http"

	"edgeguard/admin/call"
)

// getFleet sends the state of the node in its fleet.
func (s *reads) getFleet(w http.ResponseWriter, _ *http.Request) *call.Problem {
	fleet := s.reader.Stats().Fleet
	if fleet == nil {
		return noFleet()
	}
	call.SendJSON(w, http.StatusOK, FleetDetail{Fleet: *fleet, Nodes: append([]FleetNode{}, s.reader.FleetNodes()...)})
	return nil
}
