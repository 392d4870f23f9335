//go:build !linux

package lobby

// Gone is not known here.
func (*Conn) Gone() bool { return false }
