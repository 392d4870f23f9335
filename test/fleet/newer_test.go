package fleet

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
)

// What a later version writes is passed over: a record of the next format, and a
// heartbeat with unknown members. Each node reports the records once, as long as they
// are in the list, and goes on with all other records.
func TestLaterVersion(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for _, mode := range []keyMode{noKey, accept} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			u := &upgrade{guarded: newGuarded(t), expect: []string{"fleet_version", "fleet_unsigned"}}
			u.install()
			for i := range 2 {
				n := u.newNode(fmt.Sprintf("edge-%d", i+1), mode, "quiet: false, ")
				u.nodes = append(u.nodes, n)
				n.Launch()
			}
			u.joined()
			later := []string{"203.0.113.5/32", "203.0.113.0/28", "2001:db8:5::/64", "2001:db8:abcd::/64"}
			u.laterBeat()
			u.laterRecords(later)
			u.passesOver(later, "")
			// One of them knows only what it reads at its start.
			u.restart(u.nodes[1])
			u.laterBeat()
			u.passesOver(later, "after a restart")
			u.withdrawsLater(later)
			for _, n := range u.nodes {
				n.Until(n.name+" has no alarm", func() bool { return !strings.Contains(n.readyz(), "fleet_version") })
			}
		})
	}
}

// passesOver checks that no node rejects or replaces the records of a later version, and
// that all else is in force.
func (u *upgrade) passesOver(later []string, when string) {
	u.t.Helper()
	records := u.redis.HGetAll(background, blocksKey("blocks")).Val()
	other := netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 114, byte(len(when))}), 32)
	if _, err := u.nodes[0].admin.Block(background, admin.BlockRequest{Prefix: other.String()}); err != nil {
		u.t.Fatal(err)
	}
	for _, n := range u.nodes {
		n.Until(n.name+" blocks "+other.String(), func() bool { return n.blocks(other) })
		n.Until(n.name+" reports the later version", func() bool { return strings.Contains(n.readyz(), "fleet_version") })
		n.Until(n.name+" shows the node of the later version", func() bool { return n.shows("edge-9") })
	}
	u.agree(when)
	for _, n := range u.nodes {
		if all := n.alarms(); all["fleet_version"] != 1 || strings.Count(n.Said(), "alarm=fleet_version") > u.starts(n) {
			u.t.Errorf("%s: %s raised fleet_version %d times:\n%s", when, n.name, all["fleet_version"], n.Said())
		}
	}
	for _, prefix := range later {
		if now := u.redis.HGet(background, blocksKey("blocks"), prefix).Val(); now != records[prefix] {
			u.t.Errorf("%s: the record of %s was %q and is %q", when, prefix, records[prefix], now)
		}
	}
}

// starts returns how often a node was started.
func (u *upgrade) starts(n *guardedNode) int { return strings.Count(n.Said(), "\nrule site:") }

// laterRecords writes records of the next format as its functions would.
func (u *upgrade) laterRecords(prefixes []string) {
	u.t.Helper()
	for _, prefix := range prefixes {
		now := time.Now()
		r := aggregator.Record{Retention: 5 * time.Minute, Block: edgeguard.Block{
			Prefix: netip.MustParsePrefix(prefix), Rule: "site", Origin: "edge-9", Since: now, Until: now.Add(time.Hour), Version: 7,
		}}
		text, err := r.Encode()
		if err != nil {
			u.t.Fatal(err)
		}
		u.writesList(prefix, "\x02"+text[1:]+"and more", false)
	}
}

// withdrawsLater removes them again.
func (u *upgrade) withdrawsLater(prefixes []string) {
	u.t.Helper()
	for _, prefix := range prefixes {
		u.writesList(prefix, "", true)
	}
}

// writesList adds a record to the list, or removes it, with all that belongs to it.
func (u *upgrade) writesList(prefix, record string, gone bool) {
	u.t.Helper()
	names := map[string]string{}
	for _, what := range []string{"blocks", "ends", "stream", "state"} {
		names[what] = blocksKey(what)
	}
	const write = `
		local function toggle(record)
			local hash = redis.sha1hex(ARGV[1] .. record)
			for i, field in ipairs({'d1', 'd2'}) do
				local word = tonumber(redis.call('HGET', KEYS[4], field) or 0)
				redis.call('HSET', KEYS[4], field, string.format('%.0f', bit.bxor(word, tonumber(string.sub(hash, 8 * i - 7, 8 * i), 16)) % 2 ^ 32))
			end
		end
		local version = redis.call('HINCRBY', KEYS[4], 'version', 1)
		local change = {'XADD', KEYS[3], '*', 'v', version, 'p', ARGV[1], 'r', ARGV[2]}
		if ARGV[3] == '1' then
			toggle(redis.call('HGET', KEYS[1], ARGV[1]))
			redis.call('HDEL', KEYS[1], ARGV[1])
			redis.call('ZREM', KEYS[2], ARGV[1])
			change[#change + 1], change[#change + 2] = 'd', '1'
		else
			toggle(ARGV[2])
			redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
			redis.call('ZADD', KEYS[2], redis.call('TIME')[1] + 3600, ARGV[1])
		end
		redis.call('HSET', KEYS[4], 'tip', redis.call(unpack(change)))`
	removed := "0"
	if gone {
		removed = "1"
	}
	err := u.redis.Eval(background, write, []string{names["blocks"], names["ends"], names["stream"], names["state"]}, prefix, record, removed).Err()
	if err != nil && err != goredis.Nil {
		u.t.Fatal(err)
	}
}

// laterBeat sends a heartbeat with members that this version does not know.
func (u *upgrade) laterBeat() {
	u.t.Helper()
	h := aggregator.Heartbeat{Node: "edge-9", Boot: "0123456789abcdef", Version: "v9", Started: time.Now(), At: time.Now()}
	text := strings.TrimSuffix(h.Encode(), "}") + `,"region":"eu","tiers":[{"of":1},null],"held_by":{"a":1}}`
	if err := u.redis.FCall(background, redis.LibraryName+"_beat", memberKeys(), h.Field(), text, partitions, "-1", "0", "").Err(); err != nil {
		u.t.Fatal(err)
	}
}

// get reads a path of the node's API.
func (n *guardedNode) get(path string) string {
	n.g.t.Helper()
	answer, err := n.http.Get("http://node" + path)
	if err != nil {
		n.g.t.Fatal(err)
	}
	defer answer.Body.Close()
	var text json.RawMessage
	if err := json.NewDecoder(answer.Body).Decode(&text); err != nil {
		n.g.t.Fatal(err)
	}
	return string(text)
}

func (n *guardedNode) readyz() string { return n.get("/readyz") }

// shows reports whether the node lists another one as alive.
func (n *guardedNode) shows(name string) bool {
	n.g.t.Helper()
	var detail admin.FleetDetail
	if err := json.Unmarshal([]byte(n.get("/api/v1/fleet")), &detail); err != nil {
		n.g.t.Fatal(err)
	}
	for _, one := range detail.Nodes {
		if one.Name == name && one.Alive {
			return true
		}
	}
	return false
}
