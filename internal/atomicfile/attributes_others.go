//go:build !linux

package atomicfile

import (
	"os"

	"edgeguard/internal/safepath"
)

// keepAttributes does nothing here.
func keepAttributes(*os.File, *safepath.Place) {}
