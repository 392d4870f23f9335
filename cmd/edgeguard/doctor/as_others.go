//go:build !unix

package doctor

import (
	"context"
	"errors"

	"edgeguard/cmd/edgeguard/unit"
)

// asUnit cannot be done on this system.
func asUnit(context.Context, *unit.Unit, string) (*Report, error) {
	return nil, errors.New("this system has no users of systemd")
}
