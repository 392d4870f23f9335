package admin

import (
	"net/http"
	"net/netip"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// Samples returns some of the requests of the key or block of exactly this prefix to
// somebody with a role. The reader has none for guests.
func (v *View) Samples(role access.Role, prefix netip.Prefix) (SampleList, *call.Problem) {
	kept := v.reader.Samples(prefix)
	return kept.For(role, prefix)
}

// getSamples sends some of the requests of a key.
func (s *reads) getSamples(w http.ResponseWriter, r *http.Request) *call.Problem {
	prefix, p := call.ParsePrefix("prefix", r.PathValue("prefix"))
	if p != nil {
		return p
	}
	list, p := s.Samples(access.CallerOf(r).Role, prefix)
	if p == nil {
		call.SendJSON(w, http.StatusOK, list)
	}
	return p
}
