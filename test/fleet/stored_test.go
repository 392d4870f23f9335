package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
)

// pushEvery is the push interval of every node here, the default.
const pushEvery = redis.DefaultPush

// stored is what Redis stores of one key, in the window that ends at some slot.
type stored struct {
	parts map[[8]byte]uint32 // by node
	total uint32             // the fleet's ring
}

func (s *stored) sum() (sum uint32) {
	for _, part := range s.parts {
		sum += part
	}
	return sum
}

// The names in Redis, spelled out: they are a contract between versions.
func clockKey(partition int) string { return fmt.Sprintf("eg:{%s/%d}:c", namespace, partition) }

func blocksKey(what string) string { return "eg:{" + namespace + "/b}:" + what }

func (f *fleet) key(k int) (partition int, name string) {
	key := aggregator.Key{Meter: f.meter, Prefix: prefix(k)}
	partition = key.Partition(partitions)
	return partition, fmt.Sprintf("eg:{%s/%d}:k:%s", namespace, partition, key.Append(nil))
}

// stored reads the split over the nodes of some keys, and the total of the
// fleet's ring, by a push that changes nothing.
func (f *fleet) stored(keys []int, end uint32) (map[int]stored, error) {
	out := make(map[int]stored, len(keys))
	for some := range slices.Chunk(keys, 500) {
		pipe := f.redis.Pipeline()
		var splits []*goredis.Cmd
		for _, k := range some {
			_, name := f.key(k)
			splits = append(splits, pipe.FCallRO(background, f.lua+"_split", []string{name}, end))
		}
		if _, err := pipe.Exec(background); err != nil {
			if cluster, ok := f.redis.(*goredis.ClusterClient); ok {
				cluster.ReloadState(background)
			}
			return nil, err
		}
		for i, cmd := range splits {
			parts := map[[8]byte]uint32{}
			for answer := cmd.Val().([]any); len(answer) >= 2; answer = answer[2:] {
				parts[[8]byte([]byte(answer[0].(string)))] = uint32(answer[1].(int64))
			}
			out[some[i]] = stored{parts: parts}
		}
	}
	return out, f.readTotals(out, end)
}

// readTotals reads the fleet's totals of the keys that Redis has.
func (f *fleet) readTotals(out map[int]stored, end uint32) error {
	names, of := make([][]string, partitions), make([][]int, partitions)
	for k, s := range out {
		if len(s.parts) > 0 {
			p, name := f.key(k)
			names[p], of[p] = append(names[p], name), append(of[p], k)
		}
	}
	body := (&aggregator.Push{First: end, Counts: []uint16{0}}).AppendBody(nil)
	for p := range names {
		for len(names[p]) > 0 {
			n := min(200, len(names[p]))
			args := []any{aggregator.NewHeader(observer, time.Now(), f.width()).Append(nil)}
			for range n {
				args = append(args, body)
			}
			text, err := f.redis.FCall(background, f.lua+"_push", append([]string{clockKey(p)}, names[p][:n]...), args...).Text()
			if err != nil {
				return err
			}
			answers, err := aggregator.DecodeAnswers(text, n)
			if err != nil {
				return err
			}
			for i, a := range answers {
				out[of[p][i]] = stored{parts: out[of[p][i]].parts, total: a.Total}
			}
			names[p], of[p] = names[p][n:], of[p][n:]
		}
	}
	return nil
}

// observer is the ID under which the test itself reads.
var observer = aggregator.NodeID("observer", "0000000000000000")

// list reads the fleet's list.
func (f *fleet) list() (version int64, digest string, records map[string]string, err error) {
	state, err := f.redis.HGetAll(background, blocksKey("state")).Result()
	if err != nil {
		return 0, "", nil, err
	}
	records, err = f.redis.HGetAll(background, blocksKey("blocks")).Result()
	if err != nil {
		return 0, "", nil, err
	}
	version, err1 := strconv.ParseInt(cmpOr(state["version"], "0"), 10, 64)
	d1, err2 := strconv.ParseInt(cmpOr(state["d1"], "0"), 10, 64)
	d2, err3 := strconv.ParseInt(cmpOr(state["d2"], "0"), 10, 64)
	return version, fmt.Sprintf("%08x%08x", uint32(d1), uint32(d2)), records, errors.Join(err1, err2, err3)
}

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// digestOf returns what the digest of records must be.
func digestOf(records map[string]string) string {
	var all uint64
	for prefix, record := range records {
		all ^= aggregator.RecordHash(prefix, record)
	}
	return fmt.Sprintf("%016x", all)
}

// heartbeats returns the last heartbeats of the nodes, by name and boot.
func (f *fleet) heartbeats() (map[string]aggregator.Heartbeat, error) {
	fields, err := f.redis.HGetAll(background, blocksKey("nodes")).Result()
	if err != nil {
		return nil, err
	}
	out := map[string]aggregator.Heartbeat{}
	for field, text := range fields {
		var b aggregator.Heartbeat
		_, text, _ = strings.Cut(text, " ") // after the second in which it came
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			return nil, err
		}
		out[field] = b
	}
	return out, nil
}
