package server

import (
	"net/http"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// maxImport is the most bytes of a request for many blocks.
const maxImport = 32 << 20

// importMany makes many blocks or allowances, and sends the result of each.
func (s writes) importMany(allow bool) answer {
	return func(w http.ResponseWriter, r *http.Request) *call.Problem {
		by := access.CallerOf(r)
		var request admin.BulkRequest
		if p := call.ReadLarge(w, r, maxImport, "send fewer entries per request", &request); p != nil {
			return s.Audited(by, admin.ImportAction(allow), "", func(*string) *call.Problem { return p })
		}
		done, p := s.Import(by, &request, allow)
		return answered(w, http.StatusOK, done, p)
	}
}
