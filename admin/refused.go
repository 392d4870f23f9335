package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"edgeguard"
	"edgeguard/admin/call"
	"edgeguard/blocklist"
)

// This says in the API's words why a node refuses a block or an allowance,
// and whether force would change that.

// TooMuchError is why a node refuses a block that was not forced.
type TooMuchError struct {
	Prefix       netip.Prefix
	Share, Limit float64
	// Together says that Share is of all blocks of an import up to this one.
	Together bool
}

// Error names the share.
func (e *TooMuchError) Error() string {
	with := ""
	if e.Together {
		with = " with the blocks imported before it"
	}
	return fmt.Sprintf("%s%s would refuse %.0f %% of the last 5 minutes' requests here, more than the limit of %.0f %%", e.Prefix, with, 100*e.Share, 100*e.Limit)
}

// notOwned is why an owner cannot take back a block: b is another's.
func notOwned(b *edgeguard.Block, owner string) *call.Problem {
	return call.NewProblem(http.StatusConflict, "owner", fmt.Sprintf("the block of %s is by %s on %s, not by %s on this node", b.Prefix, b.Rule, b.Origin, call.Clip(owner)), "")
}

// refusedProblem makes a problem of the node's error; nil if there is none.
func refusedProblem(err error) *call.Problem {
	var tooMuch *TooMuchError
	status, field, fix, forceable := http.StatusInternalServerError, "", "", false
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooMuch):
		status, field, fix, forceable = http.StatusConflict, "prefix", "use force if this is intended", true
	case errors.Is(err, blocklist.ErrFull):
		status, field, fix = http.StatusConflict, "prefix", "remove some blocks, or raise max_blocks in the config and reload"
	case errors.Is(err, blocklist.ErrTooWide):
		status, field, fix, forceable = http.StatusUnprocessableEntity, "prefix", "use narrower prefixes, or force", true
	case errors.Is(err, blocklist.ErrProtected):
		status, field, fix, forceable = http.StatusUnprocessableEntity, "prefix", "use force if this is intended", true
	case errors.Is(err, blocklist.ErrAllowed):
		status, field, fix = http.StatusUnprocessableEntity, "prefix", "remove it from the allowlist first, in the config or with `edgeguard allow remove`"
	case errors.Is(err, blocklist.ErrInvalid), errors.Is(err, blocklist.ErrUnspecified):
		status, field = http.StatusBadRequest, "prefix"
	case errors.Is(err, blocklist.ErrExpired):
		status, field, fix = http.StatusBadRequest, "until", "use a later end"
	}
	p := call.NewProblem(status, field, err.Error(), fix)
	p.Forceable = forceable
	return p
}
