package blocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// longestOwned is the longest block of an owner: other nodes of the fleet refuse blocks
// of more than 366 days.
const longestOwned = 365 * 24 * time.Hour

// ownedSpan returns for how long an owner asks for a block. -1s is fail2ban's word for
// ever, and its times may grow with each ban: both become the longest.
func ownedSpan(text string) string {
	longest := fmt.Sprintf("%dd", longestOwned/(24*time.Hour))
	if text == "-1s" || text == "-1" {
		return longest
	}
	if d, err := call.ParseSpan(text); err == nil && d > longestOwned {
		return longest
	}
	if seconds, ok := strings.CutSuffix(text, "s"); ok && len(seconds) > 10 && strings.Trim(seconds, "0123456789") == "" {
		return longest // more than a duration can be
	}
	return text
}

// notOwned refuses JSON of what belongs to an owner: a block may change, or none.
func notOwned(e *command.Env, owner string) error {
	if e.JSON && owner != "" {
		return command.Usage(errors.New("--json, and --owner: use one of them"))
	}
	return nil
}

// addOwned makes a block for an owner, and says so if another stays.
func addOwned(ctx context.Context, e *command.Env, node *client.Client, request admin.BlockRequest) error {
	request.For = ownedSpan(request.For)
	b, err := node.Block(ctx, request)
	if err != nil {
		return err
	}
	if b.Owner != request.Owner {
		_, err = fmt.Fprintf(e.Stdout, "%s is blocked already, by %s until %s: that block stays\n", output.Prefix(b.Prefix), safetext.Strip(by(&b)), words.Instant(b.Until))
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%s is blocked until %s by %s\n", output.Prefix(b.Prefix), words.Instant(b.Until), b.Owner)
	return err
}

// by says who made a block.
func by(b *admin.Block) string {
	switch {
	case b.Owner != "":
		return b.Owner + " on " + b.Origin
	case b.Rule == "manual":
		return "hand"
	}
	return "rule " + b.Rule
}

// removeOwned takes back the block that an owner made through this node. Where there is
// none, or it is another's, there is nothing to do: a block that has ended by itself is
// no fault.
func removeOwned(ctx context.Context, e *command.Env, node *client.Client, prefix, owner, reason string) error {
	b, err := node.UnblockOwned(ctx, prefix, owner, reason)
	var problem *call.Problem
	if errors.As(err, &problem) && (problem.Status == http.StatusNotFound || problem.Status == http.StatusConflict) {
		_, err = fmt.Fprintf(e.Stdout, "%s: nothing is changed\n", safetext.Strip(problem.Detail))
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%s is no longer blocked by %s; its counts stay\n", output.Prefix(b.Prefix), safetext.Strip(owner))
	return err
}
