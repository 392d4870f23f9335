//go:build !unix

package lobby

import "net"

// pending is not known here.
func pending(net.Conn) bool { return false }
