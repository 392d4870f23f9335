package redis

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	fleet "edgeguard/aggregator/redis"
)

// patience bounds each exchange with Redis.
const patience = 30 * time.Second

// Client sends to one Redis and counts what it sends and receives. It is not safe for
// concurrent use.
type Client struct {
	redis goredis.UniversalClient
	addr  string

	commands, exchanges, in, out atomic.Int64 // the pool has goroutines of its own
}

// Sent is what a client exchanged with Redis since [Dial], without what opened its
// connections.
type Sent struct {
	Commands  int64 // what a script calls is none
	Exchanges int64 // how often an answer was waited for
	In, Out   int64 // bytes to and from Redis
}

// Dial returns a client of the Redis at host:port, which connects when it is first
// used. It is the product's own client, without TLS.
func Dial(addr string) (*Client, error) {
	c := &Client{addr: addr}
	var err error
	if c.redis, err = fleet.Dial(c.config()); err != nil {
		return nil, err
	}
	c.redis.AddHook(counting{c})
	return c, nil
}

// config is that of the product for this Redis.
func (c *Client) config() fleet.Config {
	return fleet.Config{Addresses: []string{c.addr}, Timeout: patience, Node: "loadtest", Boot: boot}
}

// Close closes the connections.
func (c *Client) Close() error { return c.redis.Close() }

// Empty removes all that Redis has, but for functions.
func (c *Client) Empty(ctx context.Context) error { return c.redis.FlushAll(ctx).Err() }

// Keys returns how many keys Redis has.
func (c *Client) Keys(ctx context.Context) (int64, error) { return c.redis.DBSize(ctx).Result() }

// Sent returns what was exchanged so far.
func (c *Client) Sent() Sent {
	return Sent{Commands: c.commands.Load(), Exchanges: c.exchanges.Load(), In: c.in.Load(), Out: c.out.Load()}
}

// Since returns what was exchanged after an earlier state.
func (s Sent) Since(before Sent) Sent {
	return Sent{s.Commands - before.Commands, s.Exchanges - before.Exchanges, s.In - before.In, s.Out - before.Out}
}

// counting is a Client as its connections' hook.
type counting struct{ *Client }

func (c counting) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return countedConn{conn, c.Client}, nil
	}
}

func (c counting) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "hello" { // how a connection begins, whenever that is
			in, out := c.in.Load(), c.out.Load()
			defer func() { c.in.Store(in); c.out.Store(out) }()
			return next(ctx, cmd)
		}
		c.commands.Add(1)
		c.exchanges.Add(1)
		defer c.even(cmd)
		return next(ctx, cmd)
	}
}

func (c counting) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.commands.Add(int64(len(cmds)))
		c.exchanges.Add(1)
		defer c.even(cmds...)
		return next(ctx, cmds)
	}
}

// idBytes is how many bytes an entry's ID in a stream counts as. Redis makes them of
// its own clock, with a number for those of one millisecond: the same run would
// else not have the same bytes.
const idBytes = len("1700000000000-0")

// even makes the IDs of streams that commands were answered with, or sent, as long
// as all are.
func (c *Client) even(cmds ...goredis.Cmder) {
	for _, cmd := range cmds {
		switch cmd := cmd.(type) {
		case *goredis.StringCmd:
			if cmd.Name() == "xadd" && cmd.Err() == nil {
				c.out.Add(int64(idBytes - len(cmd.Val())))
			}
		case *goredis.XStreamSliceCmd:
			args := cmd.Args()
			after, _ := args[len(args)-1].(string)
			c.in.Add(int64(idBytes - len(after)))
			for _, stream := range cmd.Val() {
				for _, m := range stream.Messages {
					c.out.Add(int64(idBytes - len(m.ID)))
				}
			}
		}
	}
}

// countedConn counts the bytes of a connection.
type countedConn struct {
	net.Conn
	to *Client
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.to.out.Add(int64(n))
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.to.in.Add(int64(n))
	return n, err
}
