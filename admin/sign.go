package admin

import (
	"fmt"
	"net/http"

	"edgeguard/admin/call"
)

// SignRequest asks a node to sign all records on its list. Unless Yes is set,
// it is only asked how many these are.
type SignRequest struct {
	Yes bool `json:"yes,omitempty"`
}

// Signed is how many records the node's list has: blocks, allowances and what is
// remembered of others. Unsigned of them had no signature before.
type Signed struct {
	Records  int `json:"records"`
	Unsigned int `json:"unsigned"`
}

// sign has the node sign what is on its list.
func (s *changes) sign(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request SignRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return p
	}
	records, unsigned, err := s.operator.Sign(request.Yes)
	var p *call.Problem
	if err != nil {
		p = call.NewProblem(http.StatusConflict, "", err.Error(), "set fleet.key_file on every node: `edgeguard fleet key` prints a key")
	}
	if request.Yes {
		p = s.audited(r, Audit{Action: "sign", Detail: fmt.Sprintf("%d records, %d of them unsigned", records, unsigned)}, p)
	}
	if p == nil {
		call.SendJSON(w, http.StatusOK, Signed{Records: records, Unsigned: unsigned})
	}
	return p
}
