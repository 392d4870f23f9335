package redis

import (
	"context"
	"maps"
	"net"
	"strings"
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

	exchanges int64
	named     map[string]int64 // commands
	in, out   atomic.Int64     // the pool has goroutines of its own
}

// Sent is what a client exchanged with Redis since [Dial], without what opened its
// connections.
type Sent struct {
	Commands  map[string]int64 // by name, in small letters; what a script calls is none
	Exchanges int64            // how often an answer was waited for
	In, Out   int64            // bytes to and from Redis
}

// Dial returns a client of the Redis at host:port, which connects when it is first
// used. It is the product's own client, without TLS.
func Dial(addr string) (*Client, error) {
	c := &Client{addr: addr, named: make(map[string]int64)}
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
	return Sent{Commands: maps.Clone(c.named), Exchanges: c.exchanges, In: c.in.Load(), Out: c.out.Load()}
}

// Since returns what was exchanged after an earlier state.
func (s Sent) Since(before Sent) Sent {
	since := Sent{make(map[string]int64), s.Exchanges - before.Exchanges, s.In - before.In, s.Out - before.Out}
	for name, n := range s.Commands {
		if n -= before.Commands[name]; n > 0 {
			since.Commands[name] = n
		}
	}
	return since
}

// All returns how many commands there were.
func (s Sent) All() (n int64) {
	for _, of := range s.Commands {
		n += of
	}
	return n
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
		defer c.count(cmd)
		return next(ctx, cmd)
	}
}

func (c counting) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		defer c.count(cmds...)
		return next(ctx, cmds)
	}
}

// idBytes is how many bytes an entry's ID in a stream counts as. Redis makes them of
// its own clock, with a number for those of one millisecond: the same run would
// else not have the same bytes.
const idBytes = len("1700000000000-0")

// count counts the commands of an exchange, and makes the IDs of streams that they were
// answered with, or sent, as long as all are.
func (c *Client) count(cmds ...goredis.Cmder) {
	c.exchanges++
	for _, cmd := range cmds {
		c.named[strings.ToLower(cmd.Name())]++
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
