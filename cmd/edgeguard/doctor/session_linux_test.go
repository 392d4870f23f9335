package doctor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// init ends the child of root's doctor where it has root's terminal: who has taken over
// the unit's user may stop the child, and type into that terminal by it.
func init() {
	if len(os.Args) < 2 || os.Args[1] != "doctor" {
		return
	}
	if session, err := unix.Getsid(0); err != nil || session != os.Getpid() {
		fmt.Fprintln(os.Stderr, "it has the session, and so the terminal, of root")
		os.Exit(1)
	}
}
