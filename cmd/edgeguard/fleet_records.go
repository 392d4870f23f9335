package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

// scannedAtOnce is about how many fields one HSCAN returns.
const scannedAtOnce = 1000

// fleetRecords is how many records of the fleet's list are signed.
type fleetRecords struct {
	// Signed is by the ID of the key, Unsigned how many are by none.
	Signed   map[string]int `json:"signed"`
	Unsigned int            `json:"unsigned"`
	// Verified: the MACs were verified with the keys of this config. Otherwise
	// Signed goes by the IDs that they name, which anybody could have written.
	Verified bool `json:"verified"`
}

// countRecords reads the list and the MACs beside it. keys is nil where the config
// has none.
func countRecords(ctx context.Context, client goredis.UniversalClient, namespace string, keys *aggregator.SigningKeys) (fleetRecords, error) {
	tag := "eg:{" + cmp.Or(namespace, redis.DefaultNamespace) + "/b}:"
	all := fleetRecords{Signed: make(map[string]int), Verified: keys != nil}
	macs := make(map[string]string)
	err := eachField(ctx, client, tag+"macs", func(prefix, mac string) { macs[prefix] = mac })
	if err != nil {
		return all, err
	}
	seen := make(map[string]bool) // HSCAN may return a field twice
	err = eachField(ctx, client, tag+"blocks", func(prefix, record string) {
		if seen[prefix] {
			return
		}
		seen[prefix] = true
		mac := macs[prefix]
		id := aggregator.KeyIDOf(mac)
		if id == "" || keys != nil && !keys.Signed(namespace, prefix, record, mac) {
			all.Unsigned++
			return
		}
		all.Signed[id]++
	})
	return all, err
}

// eachField calls do with the fields of a hash.
func eachField(ctx context.Context, client goredis.UniversalClient, key string, do func(field, value string)) error {
	for cursor := uint64(0); ; {
		fields, next, err := client.HScan(ctx, key, cursor, "", scannedAtOnce).Result()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(fields); i += 2 {
			do(fields[i], fields[i+1])
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// readFleetKeys reads a key file; nil for none.
func readFleetKeys(file string) (*aggregator.SigningKeys, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("fleet.key_file: %w", err)
	}
	keys, err := aggregator.ParseSigningKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("fleet.key_file %s: %w", file, err)
	}
	return keys, nil
}

// printFleetKeys shows who signs.
func printFleetKeys(out io.Writer, f *redis.Fleet, r *fleetRecords, colour bool) {
	keyed := len(r.Signed) > 0 || r.Verified || slices.ContainsFunc(f.Nodes, func(n redis.NodeStatus) bool { return n.Key != "" })
	if !keyed {
		fmt.Fprintf(out, "%s who can write to Redis can speak for a node; set fleet.key_file (edgeguard fleet key)\n", output.Paint(output.Amber, "no key:", colour))
		return
	}
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(r.Signed)) {
		parts = append(parts, fmt.Sprintf("%s signed by key %s", words.Number(r.Signed[id]), id))
	}
	parts = append(parts, words.Number(r.Unsigned)+" unsigned")
	line := "records: " + strings.Join(parts, ", ")
	if !r.Verified {
		line += " (by what the MACs say: no key of this config verifies them)"
	}
	fmt.Fprintln(out, line)
}

// nodeKey is a node's key and mode in a table.
func nodeKey(n *redis.NodeStatus) string {
	if n.Key == "" {
		return "none"
	}
	return n.Key + " " + n.Mode
}
