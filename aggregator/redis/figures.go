package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// figuresChunk is how many nodes' figures are read by one command.
const figuresChunk = 128

// figuresExchange writes one node's figures to Redis, and reads those of the others: one
// hash with a field for each node's name, which expires. Its board may be nil. It is
// of the heartbeat loop.
type figuresExchange struct {
	Board   *fleet.Board
	Client  goredis.UniversalClient
	Key     string
	Timeout time.Duration
}

// figuresTurn is the state of the node in one step.
type figuresTurn struct {
	Now, Fleet time.Time // the node's own clock, and Redis'
	Node, Boot string
	Alive      []aggregator.Heartbeat // by their names
	Judge      *fleet.Authority
}

// errFiguresLarge is of figures that are longer than any node's.
var errFiguresLarge = errors.New("figures in Redis are too large")

// ExchangeFigures writes the node's figures if another node looks, and reads those of the others
// if somebody looks here. It sends nothing to Redis while nobody looks anywhere. An
// error concerns the figures alone. What could not be read is deleted where another
// client wrote it, and nothing is read for a minute.
func (x *figuresExchange) ExchangeFigures(ctx context.Context, t figuresTurn) error {
	if x.Board == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.Timeout)
	defer cancel()
	err := x.write(ctx, &t)
	for names := range slices.Chunk(x.Board.NodesToRead(t.Now, t.Node, t.Alive), figuresChunk) {
		if failed := x.read(ctx, &t, names); failed != nil {
			x.Board.Pause(t.Now)
			err = errors.Join(err, failed)
			break
		}
	}
	if foreign(err) {
		err = errors.Join(err, x.Client.Del(context.WithoutCancel(ctx), x.Key).Err())
	}
	return err
}

// foreign reports whether an error is of what no node writes.
func foreign(err error) bool {
	return errors.Is(err, errFiguresLarge) || errors.Is(err, errLarge) || err != nil && strings.Contains(err.Error(), "WRONGTYPE")
}

func (x *figuresExchange) write(ctx context.Context, t *figuresTurn) error {
	f, due := x.Board.FiguresToWrite(t.Now, t.Node, t.Alive)
	if !due {
		return nil
	}
	f.Boot = t.Boot
	pipe := x.Client.Pipeline()
	pipe.HSet(ctx, x.Key, t.Node, t.Judge.SignFigures(t.Node, f.Encode(t.Fleet)))
	pipe.Expire(ctx, x.Key, fleet.Expires)
	_, err := pipe.Exec(ctx)
	return err
}

func (x *figuresExchange) read(ctx context.Context, t *figuresTurn, names []string) error {
	all, err := x.Client.HMGet(ctx, x.Key, names...).Result()
	if err != nil {
		return err
	}
	for i, value := range all[:min(len(all), len(names))] {
		text, _ := value.(string) // nil is a node that has written none
		if len(text) > fleet.MostFigures {
			return errFiguresLarge
		}
		if text, signed, ok := t.Judge.OpenFigures(names[i], text); ok {
			x.Board.TakeFigures(t.Now, t.Fleet, names[i], text, signed)
		}
	}
	return nil
}
