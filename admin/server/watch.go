package server

import (
	"net/http"

	"edgeguard/admin/call"
	"edgeguard/admin/watch"
)

// watch sends the figures of prefixes at the beginning of each slot, as a stream of
// server-sent events, together with the events of the kinds asked for; or as one
// JSON object with the parameter `once`.
func (s *reads) watch(w http.ResponseWriter, r *http.Request) *call.Problem {
	asked, p := watch.ReadRequest(r)
	if p != nil {
		return p
	}
	wanted := streamed{kinds: []string{}, after: asked.After, keys: asked.Keys}
	if asked.Kinds != "" {
		if wanted.kinds, p = readKinds(asked.Kinds); p != nil {
			return p
		}
	}
	if !asked.Once {
		return s.stream(w, r, wanted)
	}
	call.SendJSON(w, http.StatusOK, s.Board().Look(asked.Keys))
	return nil
}

// figures sends a message of the board.
func (o *eventWriter) figures(m watch.Message) bool { return o.Event("", "figures", m) }
