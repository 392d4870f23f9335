package enforce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

const (
	// keptOutput is how much of a command's output, from its beginning, goes
	// into an error.
	keptOutput = 2 << 10
	// afterExit is how long a command that has ended is waited for where a child
	// of it still holds its output.
	afterExit = time.Second
)

// runCommand runs a command without a shell, with no input, until ctx is done, and
// puts what it said into the error.
func runCommand(ctx context.Context, argv []string) error {
	var out output
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdout, c.Stderr = &out, &out
	c.WaitDelay = afterExit
	ownGroup(c)
	err := c.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil // the second: it went well, and left a child behind
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("killed: %w", context.Cause(ctx))
	}
	if text := bytes.TrimSpace(out.kept); len(text) > 0 {
		return fmt.Errorf("run %q: %w: its output was %q", argv, err, text)
	}
	return fmt.Errorf("run %q: %w", argv, err)
}

// output keeps the beginning of what is written to it. It is used for stdout
// and stderr together, which os/exec writes one at a time.
type output struct{ kept []byte }

func (o *output) Write(p []byte) (int, error) {
	room := keptOutput - len(o.kept)
	o.kept = append(o.kept, p[:min(room, len(p))]...)
	return len(p), nil
}
