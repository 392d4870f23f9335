package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin/call"
	"edgeguard/blocklist"
)

// listBlocks sends one page of the active blocks, filtered.
func (s *reads) listBlocks(w http.ResponseWriter, r *http.Request) *call.Problem {
	f, limit, p := ReadFilter(r)
	if p != nil {
		return p
	}
	if wantsCSV(r) {
		s.exportBlocks(w, f)
		return nil
	}
	call.SendJSON(w, http.StatusOK, s.BlockPage(f, limit))
	return nil
}

// getBlock sends the block of exactly a prefix.
func (s *reads) getBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	b, p := s.standing(r)
	if p != nil {
		return p
	}
	call.SendJSON(w, http.StatusOK, s.reader.Active([]edgeguard.Block{b})[0])
	return nil
}

// addBlock puts a block in force.
func (s *changes) addBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request BlockRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return s.audited(r, Audit{Action: "block"}, p)
	}
	record := Audit{Action: "block", Target: call.Clip(request.Prefix)}
	b, p := s.planBlock(&request)
	if p == nil {
		record.Detail = detail(b, request.Force)
		b, p = s.put(b, request.Force)
	}
	if p == nil {
		call.SendJSON(w, http.StatusCreated, NewBlock(b))
	}
	return s.audited(r, record, p)
}

// planBlock makes a block of a request. One that would let an address in
// sooner than the active block is refused: a request for a block of ten minutes
// is not meant to shorten one of a day.
func (s *changes) planBlock(request *BlockRequest) (edgeguard.Block, *call.Problem) {
	now := s.reader.Now()
	prefix, p := call.ParsePrefix("prefix", request.Prefix)
	if p != nil {
		return edgeguard.Block{}, p
	}
	until, p := call.Until(now, request.For, request.Until, call.DefaultFor)
	if p != nil {
		return edgeguard.Block{}, p
	}
	if p := call.CheckReason(request.Reason); p != nil {
		return edgeguard.Block{}, p
	}
	if old, ok := exact(s.reader.Find(now, prefix), prefix); ok && old.Until.After(until) {
		return edgeguard.Block{}, call.NewProblem(http.StatusConflict, "prefix", fmt.Sprintf("%s is already blocked by rule %s until %s", prefix, old.Rule, old.Until.UTC().Format(time.RFC3339)), "PATCH it to change its end")
	}
	return edgeguard.Block{Prefix: prefix, Rule: edgeguard.ManualRule, Reason: request.Reason, Since: now, Until: until}, nil
}

// extendBlock moves the end of an active block.
func (s *changes) extendBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	record := Audit{Action: "extend", Target: call.Clip(r.PathValue("prefix"))}
	var request ExtendRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return s.audited(r, record, p)
	}
	b, p := s.planExtension(r, &request)
	if p == nil {
		record.Detail = detail(b, request.Force)
		b, p = s.put(b, request.Force)
	}
	if p == nil {
		call.SendJSON(w, http.StatusOK, NewBlock(b))
	}
	return s.audited(r, record, p)
}

func (s *changes) planExtension(r *http.Request, request *ExtendRequest) (b edgeguard.Block, p *call.Problem) {
	if b, p = s.standing(r); p != nil {
		return b, p
	}
	if b.Until, p = call.Until(s.reader.Now(), request.For, request.Until, 0); p != nil {
		return b, p
	}
	b.Rule = edgeguard.ManualRule // or the rule's next crossing would undo it
	if request.Reason != "" {
		b.Reason = request.Reason
	}
	return b, call.CheckReason(request.Reason)
}

// removeBlock takes a block back.
func (s *changes) removeBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	record := Audit{Action: "unblock", Target: call.Clip(r.PathValue("prefix"))}
	lifted, p := s.lift(r, &record)
	if p == nil {
		call.SendJSON(w, http.StatusOK, NewBlock(lifted))
	}
	return s.audited(r, record, p)
}

func (s *changes) lift(r *http.Request, record *Audit) (edgeguard.Block, *call.Problem) {
	q, p := call.ReadQuery(r, "reason")
	if p != nil {
		return edgeguard.Block{}, p
	}
	if p := call.CheckReason(q["reason"]); p != nil {
		return edgeguard.Block{}, p
	}
	b, p := s.standing(r)
	if p != nil && !s.waits(b.Prefix) {
		return b, p
	}
	reason := q["reason"]
	if reason == "" {
		reason = "lifted by hand"
	}
	record.Detail = reason
	lifted, ok := s.operator.Unblock(b.Prefix, reason)
	if !ok { // it ended, or another request lifted it, since it was looked up
		return b, call.NewProblem(http.StatusNotFound, "prefix", b.Prefix.String()+" is no longer blocked", "")
	}
	return lifted, nil
}

// standing returns the block that a request's path names. If there is none, the
// problem names the block that contains the prefix: to unblock an address of a
// blocked network, an operator has to decide about the network. The block
// returned with a problem has the prefix alone.
func (s *reads) standing(r *http.Request) (edgeguard.Block, *call.Problem) {
	prefix, p := call.ParsePrefix("prefix", r.PathValue("prefix"))
	if p != nil {
		return edgeguard.Block{}, p
	}
	found := s.reader.Find(s.reader.Now(), prefix)
	if b, ok := exact(found, prefix); ok {
		return b, nil
	}
	p = call.NewProblem(http.StatusNotFound, "prefix", prefix.String()+" is not blocked", "")
	switch {
	case s.waits(prefix):
		p = call.NewProblem(http.StatusNotFound, "prefix", "the block of "+prefix.String()+" is not in force: it awaits confirmation", "confirm or remove it")
	case len(found) > 0:
		p = call.NewProblem(http.StatusNotFound, "prefix", fmt.Sprintf("there is no block of exactly %s, but one of %s contains it", prefix, found[0].Prefix), "use "+found[0].Prefix.String())
	}
	return edgeguard.Block{Prefix: prefix}, p
}

// exact finds the block of exactly a prefix among those around it.
func exact(found []edgeguard.Block, prefix netip.Prefix) (edgeguard.Block, bool) {
	for _, b := range found {
		if b.Prefix == prefix {
			return b, true
		}
	}
	return edgeguard.Block{}, false
}

// put passes a block to the node.
func (s *changes) put(b edgeguard.Block, force bool) (edgeguard.Block, *call.Problem) {
	b, err := s.operator.Block(b, force)
	return b, refused(err)
}

// refused makes a problem of the node's error; nil if there is none.
func refused(err error) *call.Problem {
	var tooMuch *TooMuchError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooMuch):
		return call.NewProblem(http.StatusConflict, "prefix", err.Error(), "use force if this is intended")
	case errors.Is(err, blocklist.ErrFull):
		return call.NewProblem(http.StatusConflict, "prefix", err.Error(), "remove some blocks, or raise max_blocks in the config and reload")
	case errors.Is(err, blocklist.ErrTooWide):
		return call.NewProblem(http.StatusUnprocessableEntity, "prefix", err.Error(), "use narrower prefixes, or force")
	case errors.Is(err, blocklist.ErrProtected):
		return call.NewProblem(http.StatusUnprocessableEntity, "prefix", err.Error(), "use force if this is intended")
	case errors.Is(err, blocklist.ErrAllowed):
		return call.NewProblem(http.StatusUnprocessableEntity, "prefix", err.Error(), "remove it from the allowlist first, in the config or with `edgeguard allow remove`")
	case errors.Is(err, blocklist.ErrInvalid), errors.Is(err, blocklist.ErrUnspecified):
		return call.NewProblem(http.StatusBadRequest, "prefix", err.Error(), "")
	case errors.Is(err, blocklist.ErrExpired):
		return call.NewProblem(http.StatusBadRequest, "until", err.Error(), "use a later end")
	}
	return call.NewProblem(http.StatusInternalServerError, "", err.Error(), "")
}

// detail describes a block or an allowance for the audit.
func detail(b edgeguard.Block, force bool) string {
	parts := []string{lasts(b.Until)}
	if b.Reason != "" {
		parts = append(parts, "reason: "+b.Reason)
	}
	if force {
		parts = append(parts, "forced")
	}
	return strings.Join(parts, ", ")
}
