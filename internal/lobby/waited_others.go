//go:build !linux

package lobby

import "time"

// Waited is not known here.
func (*Conn) Waited() time.Duration { return 0 }
