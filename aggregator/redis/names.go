package redis

import (
	"strconv"
	"strings"
)

// names are the keys of one namespace. Each partition's keys share a hash tag,
// and so do the blocks', nodes' and watch list's: a Cluster keeps each of these
// groups on one master.
type names struct {
	clocks, counts []string // by partition

	blocks, ends, stream, watch, state, nodes string
}

func newNames(namespace string, partitions int) names {
	var n names
	for p := range partitions {
		tag := "eg:{" + namespace + "/" + strconv.Itoa(p) + "}:"
		n.clocks = append(n.clocks, tag+"c")
		n.counts = append(n.counts, tag+"k:")
	}
	tag := "eg:{" + namespace + "/b}:"
	n.blocks, n.ends, n.stream = tag+"blocks", tag+"ends", tag+"stream"
	n.watch, n.state, n.nodes = tag+"watch", tag+"state", tag+"nodes"
	return n
}

// heartbeatKeys returns the keys of the beat function, in its order.
func (n *names) heartbeatKeys() []string { return []string{n.nodes, n.state, n.ends, n.blocks} }

// publishKeys returns the keys of the publish function, in its order.
func (n *names) publishKeys() []string { return []string{n.blocks, n.ends, n.stream, n.state} }

// functionName returns the full name of one of the library's functions.
func functionName(what string) string { return Library + "_" + what }

// nodeCommands are the commands that a node's user may run: the functions, what
// these call (Redis checks that against the user too), the clock, and the reads
// of the streams.
const nodeCommands = "+fcall +fcall_ro +time +info +ping " +
	"+get +set +del +expire +hget +hmget +hgetall +hscan +hlen +hset +hsetnx +hincrby +hdel " +
	"+zadd +zrem +zrangebyscore +xadd +xread " +
	"+asking +command +cluster|slots +cluster|shards +cluster|nodes"

// ACL returns the line that gives a node's user no more than it needs: the
// functions and what they call, on this namespace's keys only; no script, no
// loading of functions, no channel. The operator replaces PASSWORD. "" means
// the user edge.
func ACL(user, namespace string) string {
	orElse(&user, "edge")
	orElse(&namespace, DefaultNamespace)
	return strings.Join([]string{"ACL SETUSER", user, "on", ">PASSWORD", "resetkeys",
		"~eg:{" + namespace + "/*", "resetchannels -@all", nodeCommands}, " ")
}

// LoaderACL returns the line for a user that may only load the library.
func LoaderACL(user string) string {
	orElse(&user, "edge-loader")
	return "ACL SETUSER " + user + " on >PASSWORD resetkeys resetchannels -@all +ping +info " +
		"+function|load +function|list +cluster|slots +cluster|shards +cluster|nodes +command"
}
