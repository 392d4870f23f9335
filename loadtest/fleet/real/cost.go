package real

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/sleep"
	"edgeguard/loadtest/redisserver"
)

// What is asked of a Redis to learn what a command costs it: so many links, each of
// another node, ask as fast as it answers.
const (
	links     = 8
	costKeys  = 2000 // that all of them push
	costSlot  = 5    // seconds: of a window of five minutes
	pipelined = 16   // a round's pushes go out together: a call for each partition
)

// Cost is what one command costs Redis.
type Cost struct {
	Command string
	// Keys are those of a call. A small fleet's pushes have one or two, and none has
	// more than 200.
	Keys int
	// CPUCall is Redis' processor time of a call, in µs, with the connection's: the
	// least of some rounds, since what else runs on the machine can only add to it.
	CPUCall float64
}

// costRounds is how often the loads take turns.
const costRounds = 3

// load is one kind of call.
type load struct {
	command  string
	keys     int
	links    int
	together int // calls that are sent before their answers are read
	call     func(l *link, text []byte, keys int) []byte
}

// loads are measured in this order: pushes make what the others read. A call that is
// alone in its exchange has all the cost of reading and writing at the connection.
var loads = []load{
	{"push, alone", 1, links, 1, (*link).push},
	{"push", 1, links, pipelined, (*link).push},
	{"push", 20, links, pipelined, (*link).push},
	{"push", 200, links, pipelined, (*link).push},
	{"split", 1, links, 1, (*link).split},
	{"xadd", 1, links, 1, (*link).watch},
	{"xread, one entry", 0, links, 1, (*link).readOne},
	// Redis looks ten times a second who has waited long enough.
	{"xread, none", 0, 32 * links, 1, (*link).readNone},
}

// costs measures each load on a Redis that does nothing else, each for a time. What
// Redis spends with nobody there is taken off.
func costs(ctx context.Context, r *redisserver.Server, each time.Duration) ([]Cost, error) {
	alone, took, err := spent(ctx, r, func() error { sleep.For(ctx, each); return ctx.Err() })
	if err != nil {
		return nil, err
	}
	idle := alone.Seconds() / took.Seconds()
	all := make([]Cost, len(loads))
	for round := range costRounds {
		for i := range loads {
			c, err := loads[i].cost(ctx, r, each/costRounds, idle)
			if err != nil {
				return nil, err
			}
			if round == 0 || c.CPUCall < all[i].CPUCall {
				all[i] = c
			}
		}
	}
	return all, nil
}

// cost measures one load once. idle is the share of a processor that Redis takes with
// nobody there.
func (l *load) cost(ctx context.Context, r *redisserver.Server, lasts time.Duration, idle float64) (c Cost, err error) {
	if _, err := l.run(ctx, r.Addr, lasts/8); err != nil { // makes keys
		return c, err
	}
	var calls uint64
	cpu, took, err := spent(ctx, r, func() (err error) {
		calls, err = l.run(ctx, r.Addr, lasts)
		return err
	})
	if err != nil {
		return c, err
	}
	net := cpu.Seconds() - idle*took.Seconds()
	return Cost{l.command, l.keys, 1e6 * net / float64(calls)}, nil
}

// spent returns what Redis spent on a processor while something was done.
func spent(ctx context.Context, r *redisserver.Server, do func() error) (cpu, took time.Duration, err error) {
	before, err := r.CPU(ctx)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := do(); err != nil {
		return 0, 0, err
	}
	took = time.Since(begun)
	after, err := r.CPU(ctx)
	return after - before, took, err
}

// run asks over all links for a time, and returns how many calls were answered.
func (l *load) run(ctx context.Context, addr string, lasts time.Duration) (uint64, error) {
	until, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	var answered atomic.Uint64
	errs := make([]error, l.links)
	var all sync.WaitGroup
	for i := range l.links {
		all.Go(func() {
			one := link{id: aggregator.NodeID(nodeName(i), "0123456789abcdef")}
			errs[i] = one.ask(until, addr, l, &answered)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return max(1, answered.Load()), errors.Join(errs...)
}

// link is one node's connection.
type link struct {
	id    [8]byte
	slot  uint32
	count uint16 // in this slot, of the key that comes next
	at    int    // that key, of its own
}

// ask calls until ctx ends.
func (n *link) ask(ctx context.Context, addr string, l *load, answered *atomic.Uint64) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	var text, answer []byte
	for ctx.Err() == nil {
		text = text[:0]
		for range l.together {
			text = l.call(n, text, l.keys)
		}
		if _, err := conn.Write(text); err != nil {
			return err
		}
		for range l.together {
			if answer, err = readAnswer(r, answer[:0]); err != nil {
				return err
			}
			if answer[0] == '-' {
				return fmt.Errorf("answer of Redis to %s: %s", l.command, bytes.TrimSpace(answer))
			}
			answered.Add(1)
		}
	}
	return nil
}

// push writes a push of the newest slot of some keys, each higher than before.
func (n *link) push(text []byte, keys int) []byte {
	now := time.Now()
	if slot := uint32(now.Unix() / costSlot); slot != n.slot {
		n.slot, n.at, n.count = slot, 0, 1
	}
	text = appendHead(text, 3+1+keys+1+keys)
	text = appendWords(text, "FCALL", "edgeguard1_push", strconv.Itoa(1+keys), "eg:{cost/0}:c")
	body := (&aggregator.Push{First: n.slot, Counts: []uint16{n.count}}).AppendBody(nil)
	for range keys {
		text = appendWords(text, costKey(n.at))
		if n.at++; n.at == costKeys {
			n.at = 0
			n.count++
		}
	}
	text = appendWords(text, string(aggregator.NewHeader(n.id, now, costSlot).Append(nil)))
	for range keys {
		text = appendWords(text, string(body))
	}
	return text
}

// split asks who counted what of a key, as a node does before it blocks.
func (n *link) split(text []byte, _ int) []byte {
	n.at = (n.at + 1) % costKeys
	slot := strconv.FormatInt(time.Now().Unix()/costSlot, 10)
	return appendWords(appendHead(text, 5), "FCALL_RO", "edgeguard1_split", "1", costKey(n.at), slot)
}

// watch puts a key on the watch list.
func (n *link) watch(text []byte, _ int) []byte {
	n.at = (n.at + 1) % costKeys
	return appendWords(appendHead(text, 8), "XADD", costStream, "MAXLEN", "~", "10000", "*", "k", costKey(n.at)[len(costPrefix):])
}

// readOne reads the newest entry of the watch list, readNone waits for another in
// vain.
func (n *link) readOne(text []byte, _ int) []byte {
	return appendWords(appendHead(text, 10), "XREAD", "COUNT", "1", "BLOCK", "400", "STREAMS", "eg:{cost/b}:stream", costStream, "$", "0")
}

func (n *link) readNone(text []byte, _ int) []byte {
	return appendWords(appendHead(text, 10), "XREAD", "COUNT", "1000", "BLOCK", "2", "STREAMS", "eg:{cost/b}:stream", costStream, "$", "$")
}

const costStream, costPrefix = "eg:{cost/b}:watch", "eg:{cost/0}:k:"

// costKey is that of one IPv4 address.
func costKey(i int) string {
	key := []byte(costPrefix + "meter678\x20")
	return string(binary.BigEndian.AppendUint32(key, uint32(0x0a000000+i*7919)))
}

func appendHead(text []byte, words int) []byte {
	return append(strconv.AppendInt(append(text, '*'), int64(words), 10), "\r\n"...)
}

func appendWords(text []byte, words ...string) []byte {
	for _, word := range words {
		text = append(strconv.AppendInt(append(text, '$'), int64(len(word)), 10), "\r\n"...)
		text = append(append(text, word...), "\r\n"...)
	}
	return text
}
