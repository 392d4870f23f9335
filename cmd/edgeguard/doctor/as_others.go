//go:build !unix

package doctor

import (
	"context"
	"errors"
)

// asUnit cannot be done on this system.
func asUnit(context.Context, *Unit, string) (*report, error) {
	return nil, errors.New("this system has no users of systemd")
}
