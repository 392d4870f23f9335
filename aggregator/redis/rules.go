package redis

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/fleet"
)

// rulesExchange writes what one node's rules do to Redis where another node asks, and reads those
// of nodes whose digest differs: one hash with a field for each node's name. What was written stays
// for an hour, for `edgeguard fleet status`. It is of the heartbeat loop.
type rulesExchange struct {
	Compared *fleet.Comparison // nil: nothing is compared
	Client   goredis.UniversalClient
	Key      string
	Timeout  time.Duration
}

// rulesField is under which name a node signs: a MAC of figures does not fit rules.
func rulesField(node string) string { return "rules " + node }

// ExchangeRules follows whose rules differ, writes this node's and reads the others' as far as they are asked
// for. What is longer than any node writes is deleted.
func (x *rulesExchange) ExchangeRules(ctx context.Context, t *figuresTurn, digest string) error {
	if x.Compared == nil {
		return nil
	}
	x.Compared.Follow(t.Now, t.Node, digest, t.Alive)
	ctx, cancel := context.WithTimeout(ctx, x.Timeout)
	defer cancel()
	var err error
	if text, due := x.Compared.RulesToWrite(t.Now, t.Node, t.Alive); due {
		pipe := x.Client.Pipeline()
		pipe.HSet(ctx, x.Key, t.Node, t.Judge.SignFigures(rulesField(t.Node), text))
		pipe.Expire(ctx, x.Key, fleet.RuleFactsStay)
		_, err = pipe.Exec(ctx)
	}
	if names := x.Compared.NodesToRead(t.Now); len(names) > 0 {
		err = errors.Join(err, x.read(ctx, t, names))
	}
	if foreign(err) {
		err = errors.Join(err, x.Client.Del(context.WithoutCancel(ctx), x.Key).Err())
	}
	return err
}

func (x *rulesExchange) read(ctx context.Context, t *figuresTurn, names []string) error {
	all, err := x.Client.HMGet(ctx, x.Key, names...).Result()
	if err != nil {
		return err
	}
	for i, value := range all[:min(len(all), len(names))] {
		text, _ := value.(string) // nil is a node that has written none
		if len(text) > fleet.MostRuleFacts {
			return errFiguresLarge
		}
		if text, _, ok := t.Judge.OpenFigures(rulesField(names[i]), text); ok {
			x.Compared.TakeRules(names[i], text)
		}
	}
	return nil
}
