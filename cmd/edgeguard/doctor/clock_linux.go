package doctor

import "golang.org/x/sys/unix"

// clock looks whether the kernel's clock is kept right by somebody.
func (x *examination) clock() {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	switch {
	case err != nil:
		x.note(doubt, "clock", "adjtimex: %v", err)
	case state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0:
		x.note(doubt, "clock", "not synchronized: run an NTP client; a fleet needs it, a node alone does not")
	default:
		x.note(fine, "clock", "synchronized")
	}
}
