package redis

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
)

// claimed makes a partition use the time that pushes claim.
const claimed = "claimed"

// Claim makes the namespace use the time that its pushes claim instead of
// Redis' own: for recorded events, in a separate namespace. A live fleet must
// never share it, since no clock is judged there. It requires SET, which a node's
// user lacks.
func (p *Pusher) Claim(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	for _, clock := range p.names.clocks {
		pipe.FCall(ctx, replayName+"_clock", []string{clock}, claimed)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("claim the namespace's clock (requires a user with +set): %w", err)
	}
	return nil
}

// Watched returns the keys that were added to the watch list after a position
// in it, and the position after them; "0" is its beginning. It does not wait. A
// Link reads the list by itself.
func (p *Pusher) Watched(ctx context.Context, after string) ([]aggregator.Key, string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	news, err := p.client.XRead(ctx, &goredis.XReadArgs{
		Streams: []string{p.names.watch, after}, Count: watchLength, Block: -1,
	}).Result()
	if errors.Is(err, goredis.Nil) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, fmt.Errorf("watch list: %w", err)
	}
	var keys []aggregator.Key
	for _, m := range news[0].Messages {
		after = m.ID
		text, _ := m.Values["k"].(string)
		if k, err := aggregator.ParseKey([]byte(text)); err == nil {
			keys = append(keys, k)
		}
	}
	return keys, after, nil
}

// RemoveClaim removes what [Pusher.Claim] and the watch list left in the namespace.
// Counts expire ten minutes after the last push.
func (p *Pusher) RemoveClaim(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	for _, clock := range p.names.clocks {
		pipe.Del(ctx, clock)
	}
	pipe.Del(ctx, p.names.watch)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("remove the namespace: %w", err)
	}
	return nil
}
