package redis

import (
	"cmp"
	"strings"
)

// DefaultNamespace is the namespace of a fleet that names none.
const DefaultNamespace = "edgeguard"

// nodeCommands are the commands that a node's user may run: the functions, what
// these call (Redis checks that against the user too), the time, and the reads
// of the streams. SET is not among them: it could have a namespace believe the
// time that pushes claim.
const nodeCommands = "+fcall +fcall_ro +time +info +ping " +
	"+get +del +expire +hget +hmget +hgetall +hscan +hlen +hset +hsetnx +hincrby +hdel " +
	"+zadd +zrem +zrangebyscore +xadd +xread " +
	"+asking +command +cluster|slots +cluster|shards +cluster|nodes"

// ACLLine returns the line that gives a node's user no more than it needs: the
// functions and what they call, on this namespace's keys only; no script, no
// loading of functions, no channel. The operator replaces PASSWORD. An empty
// user means edge, an empty namespace DefaultNamespace.
func ACLLine(user, namespace string) string {
	user, namespace = cmp.Or(user, "edge"), cmp.Or(namespace, DefaultNamespace)
	return strings.Join([]string{"ACL SETUSER", user, "on", ">PASSWORD", "resetkeys",
		"~eg:{" + namespace + "/*", "resetchannels -@all", nodeCommands}, " ")
}

// LoaderACL returns the line for a user that may only load the library.
func LoaderACL(user string) string {
	user = cmp.Or(user, "edge-loader")
	return "ACL SETUSER " + user + " on >PASSWORD resetkeys resetchannels -@all +ping +info " +
		"+function|load +function|list +cluster|slots +cluster|shards +cluster|nodes +command"
}
