// Command edgeguard finds the addresses that abuse a web edge. See the
// README, or `edgeguard help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, environment(), os.Args[1:])
	stop()
	os.Exit(code)
}
