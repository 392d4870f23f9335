package server

import (
	"net/http"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// listImports sends the summary of imported blocks.
func (s *reads) listImports(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, s.Reader().Imports())
	return nil
}

// confirmImport puts in force what awaits confirmation under a name, and sends the
// feed.
func (s writes) confirmImport(w http.ResponseWriter, r *http.Request) *call.Problem {
	name := r.PathValue("name")
	if p := s.ConfirmImport(access.CallerOf(r), name); p != nil {
		return p
	}
	for _, f := range s.imports().Feeds {
		if f.Name == name {
			call.SendJSON(w, http.StatusOK, f)
		}
	}
	return nil
}
