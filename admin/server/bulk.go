package server

import (
	"net/http"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// maxImport is the most bytes of a request for many blocks.
const maxImport = 8 << 20

// importBlocks makes many blocks, and sends the result of each.
func (s writes) importBlocks(w http.ResponseWriter, r *http.Request) *call.Problem {
	by := access.CallerOf(r)
	var request admin.BulkRequest
	if p := call.ReadLarge(w, r, maxImport, "send fewer blocks per request", &request); p != nil {
		return s.Audited(by, "import", "", func(*string) *call.Problem { return p })
	}
	done, p := s.Import(by, &request)
	return answered(w, http.StatusOK, done, p)
}
