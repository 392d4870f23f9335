package doctor

import (
	"context"
	"time"

	"edgeguard/config"
	"edgeguard/internal/safetext"
	"edgeguard/node/lists"
)

// cloudFor is how long the lists behind APIs may take to answer, all together.
const cloudFor = 20 * time.Second

// clouds looks whether the lists behind somebody's API can be reached, and are the
// node's to write. It reads them only.
func (x *examination) clouds(ctx context.Context, c *config.Config) {
	ctx, cancel := context.WithTimeout(ctx, cloudFor)
	defer cancel()
	for _, seen := range lists.LookAtClouds(ctx, c) {
		for _, line := range seen.Lines {
			x.note(fine, seen.Name, "%s", safetext.Strip(line))
		}
		if seen.Err != nil && !x.denied(seen.Name, seen.Err) {
			x.note(wrong, seen.Name, "%s", safetext.Strip(seen.Err.Error()))
		}
	}
}
