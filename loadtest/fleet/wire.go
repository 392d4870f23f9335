package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/fleetmodel"
)

// The commands, in the order in which they are told.
const (
	push    = "edgeguard1_push"
	split   = "edgeguard1_split"
	forget  = "edgeguard1_forget"
	publish = "edgeguard1_publish"
	beat    = "edgeguard1_beat"
	add     = "XADD"
	read    = "XREAD"
)

var functions = []string{push, split, forget, publish, beat, add, read}

// load is the sums of one kind of command.
func (m *simulation) load(function string) *Load {
	if m.loads[function] == nil {
		m.loads[function] = &Load{Function: function}
	}
	return m.loads[function]
}

// count adds commands of one kind.
func (m *simulation) count(function string, calls, keys uint64, in, out int, cpu time.Duration) {
	l := m.load(function)
	l.Calls, l.Keys, l.In, l.Out, l.CPU = l.Calls+calls, l.Keys+keys, l.In+uint64(in), l.Out+uint64(out), l.CPU+cpu
}

// called counts a command of the model's.
func (m *simulation) called(_ *fleetmodel.Node, c *fleetmodel.Command, reply any, err error) {
	out := answer(reply)
	if err != nil {
		out = len(err.Error()) + 3
	}
	keys, cpu := uint64(len(c.Keys)), time.Duration(0)
	switch c.Function {
	case push:
		keys--
		cpu = m.pushed(c)
	case split:
		cpu = of(1, m.costs.Split)
	case forget:
		cpu = of(1, m.costs.Call+m.costs.Push)
	case publish:
		keys = uint64(len(c.Args) / 3)
		cpu = of(keys, m.costs.Publish)
	case add:
		out, cpu = bulk(len("1700000000000-0")), of(1, m.costs.Watch)
		m.count(read, 0, 0, 0, m.setup.Nodes*entries("watch", c.Args...), 0)
	}
	m.count(c.Function, 1, keys, m.request(c), out, cpu)
}

// pushed counts the keys of a push call by what they cost.
func (m *simulation) pushed(c *fleetmodel.Command) time.Duration {
	cpu := of(1, m.costs.Call)
	for i, body := range c.Args[1:] {
		m.clients[m.index[c.Keys[1+i]]].pushed = true
		slots := (len(body) - aggregator.BodySize) / 2
		switch {
		case slots == 1 && body[len(body)-1] == 0 && body[len(body)-2] == 0:
			m.out.Reconciled++
			cpu += of(1, m.costs.Offer)
		case slots > fewSlots:
			m.out.Full++
			cpu += of(1, m.costs.Full)
		default:
			cpu += of(1, m.costs.Push)
		}
	}
	return cpu
}

// fewSlots is what a push has at most that costs as one: the cost of [Costs.Full] is of
// 60 slots.
const fewSlots = 20

// request is how many bytes a command takes as RESP, with the names of the namespace.
func (m *simulation) request(c *fleetmodel.Command) (bytes int) {
	const shared = len("eg:{" + namespace + "/b}:")
	switch c.Function {
	case add:
		bytes = frame("XADD", "", "MAXLEN", "~", "10000", "*") + shared + len("watch") + bulk(len(c.Args[0])) + bulk(len(c.Args[1]))
		return bytes + 2 // the name's length has two digits
	case publish:
		words := []string{"FCALL", publish, "5"}
		for _, k := range c.Keys {
			words = append(words, "eg:{"+namespace+"/b}:"+k)
		}
		return frame(append(words, c.Args...)...)
	}
	counted, prefix, name := c.Keys, "", "FCALL"
	if c.Function == push {
		k, _ := aggregator.ParseKey([]byte(c.Keys[1]))
		partition := strconv.Itoa(k.Partition(m.setup.Partitions))
		counted, prefix = c.Keys[1:], "eg:{"+namespace+"/"+partition+"}:"
		bytes = bulk(len(prefix) + len("c"))
	} else {
		k, _ := aggregator.ParseKey([]byte(c.Keys[0]))
		prefix = "eg:{" + namespace + "/" + strconv.Itoa(k.Partition(m.setup.Partitions)) + "}:"
		if c.Function == split {
			name = "FCALL_RO"
		}
	}
	words := 3 + len(c.Keys) + len(c.Args)
	bytes += len(strconv.Itoa(words)) + 3 + bulk(len(name)) + bulk(len(c.Function)) + bulk(len(strconv.Itoa(len(c.Keys))))
	for _, k := range counted {
		bytes += bulk(len(prefix) + len("k:") + len(k))
	}
	for _, a := range c.Args {
		bytes += bulk(len(a))
	}
	return bytes
}

// frame is how many bytes a command of these words takes.
func frame(words ...string) int {
	n := len(strconv.Itoa(len(words))) + 3
	for _, w := range words {
		n += bulk(len(w))
	}
	return n
}

// bulk is how many bytes a string of so many takes.
func bulk(n int) int { return 1 + digits(n) + 2 + n + 2 }

func digits(n int) (d int) {
	for d = 1; n >= 10; n /= 10 {
		d++
	}
	return d
}

// answer is how many bytes an answer takes, in RESP2.
func answer(reply any) (bytes int) {
	switch r := reply.(type) {
	case string:
		return bulk(len(r))
	case int64:
		return 3 + len(strconv.FormatInt(r, 10))
	case []any:
		bytes = 3 + digits(len(r))
		for _, one := range r {
			bytes += answer(one)
		}
	}
	return bytes
}

// entries is how many bytes a read of a stream answers that has one entry with these
// fields.
func entries(stream string, fields ...string) int {
	return len("*1\r\n*2\r\n") + bulk(len("eg:{"+namespace+"/b}:"+stream)) + len("*1\r\n*2\r\n") + bulk(len("1700000000000-0")) + frame(fields...)
}

// idleRead is the command of a read, and the answer to one that waited in vain.
var idleRead = [2]int{
	frame("XREAD", "count", "1000", "block", "400", "streams", "eg:{"+namespace+"/b}:stream", "eg:{"+namespace+"/b}:watch", "1700000000000-0", "1700000000000-0"),
	len("*-1\r\n"),
}

// beats counts the heartbeats of a time, and the reads of all of them: each node's
// every as many seconds as there are nodes.
func (m *simulation) beats(lasted time.Duration) {
	const every = 2 * time.Second
	nodes := uint64(m.setup.Nodes)
	calls := nodes * uint64(lasted/every)
	h := aggregator.Heartbeat{Node: "node-00", Boot: "0123456789abcdef", Version: "1.0.0", Started: m.fleet.Now, At: m.fleet.Now,
		AheadMS: 0.123, PushLagMS: 123, Changes: 1, Digest: "0123456789abcdef", Cutoff: m.fleet.Now.Unix(), Run: "01234567", Seq: 1}
	keys := []string{"nodes", "state", "ends", "blocks", "seen", "moved", "macs"}
	words := []string{"FCALL", beat, "7"}
	for _, k := range keys {
		words = append(words, "eg:{"+namespace+"/b}:"+k)
	}
	args := []string{h.Field(), h.Encode(), fmt.Sprint(m.setup.Partitions), "1", "0", h.Run}
	reply, _ := m.fleet.Redis.Call(m.fleet.Now, beat, keys, slices.Replace(slices.Clone(args), 3, 4, "-1"))
	in, out := frame(append(words, args...)...), answer(reply)
	reads := uint64(lasted / time.Second)
	size := int(reads) * m.setup.Nodes * (bulk(len(h.Field())) + 4 + bulk(len(h.Encode())))
	cpu := of(calls, m.costs.Beat) + of(reads, m.costs.Whole*float64(nodes)/1000)
	m.count(beat, calls, calls, in*int(calls), out*int(calls)+size, cpu)
}
