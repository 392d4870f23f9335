package accesslog

import (
	"io"
	"os"
	"time"
)

// Options say how a log is read. The zero value is ready.
type Options struct {
	// Zone is that of times that name none; nil means UTC.
	Zone *time.Location
	// Window is how far ahead of its neighbours a timestamp may be, see
	// [Strays]; 0 lets all of them through.
	Window time.Duration
	// Stdin is read for the name "-"; nil means the process's own.
	Stdin io.Reader
}

func (o *Options) stdin() io.Reader {
	if o.Stdin == nil {
		return os.Stdin
	}
	return o.Stdin
}
