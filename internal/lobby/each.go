package lobby

import (
	"errors"
	"time"
)

// The first and the longest wait after an error of Accept that may pass by itself.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// Each calls do with every connection that comes. It returns nil once over reports
// true, which whoever closes the listener sets before, and otherwise the error of a
// listener that failed for good.
func (l *Listener) Each(over func() bool, do func(*Conn)) error {
	for pause := time.Duration(0); !over(); {
		c, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			do(c.(*Conn))
		case over():
		case isPassing(err):
			pause = min(max(2*pause, firstPause), longestPause)
			time.Sleep(pause)
		default:
			return err
		}
	}
	return nil
}

// isPassing reports whether accepting may work again by itself: no file
// descriptors, a peer that hung up too early.
func isPassing(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}
