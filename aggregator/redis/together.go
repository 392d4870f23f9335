package redis

import (
	"context"
	"errors"
	"sync"
)

// This file runs loops side by side that depend on each other.

var errEnded = errors.New("ended")

// runTogether runs loops until all have ended. The first that ends ends the others, and its
// error is returned.
func runTogether(ctx context.Context, loops ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(func() {
			err := loop(ctx)
			if err == nil {
				err = errEnded
			}
			cancel(err)
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
