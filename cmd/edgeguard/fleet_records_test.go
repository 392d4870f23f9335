package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/redistest"
)

// A record counts for a key only if its MAC fits, where there is a key to verify it
// with; without one the MAC's own word is shown as such.
func TestCountRecords(t *testing.T) {
	const namespace = "shop"
	ctx, client := context.Background(), redistest.Start(t, redistest.Options{}).Client()
	parse := func(c string) *aggregator.SigningKeys {
		k, err := aggregator.ParseSigningKeys(strings.Repeat(c, 64))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	old, fresh, stranger := parse("1"), parse("2"), parse("3")
	both, err := aggregator.ParseSigningKeys(strings.Repeat("2", 64) + "\n" + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}
	put := func(prefix string, keys *aggregator.SigningKeys, record string) {
		client.HSet(ctx, "eg:{shop/b}:blocks", prefix, "record "+prefix)
		if keys != nil {
			client.HSet(ctx, "eg:{shop/b}:macs", prefix, keys.Record(namespace, prefix, record))
		}
	}
	for i := range 1500 {
		p := fmt.Sprintf("10.0.%d.%d/32", i/256, i%256)
		put(p, old, "record "+p)
	}
	put("192.0.2.1/32", fresh, "record 192.0.2.1/32")
	put("192.0.2.2/32", fresh, "another record") // an old node has replaced the record
	put("192.0.2.3/32", nil, "")
	put("192.0.2.4/32", stranger, "record 192.0.2.4/32")
	client.HSet(ctx, "eg:{shop/b}:macs", "192.0.2.9/32", "a MAC of nothing")

	for name, c := range map[string]struct {
		keys     *aggregator.SigningKeys
		signed   map[string]int
		unsigned int
		says     string
	}{
		"both keys": {both, map[string]int{old.KeyID(): 1500, fresh.KeyID(): 1}, 3, "1,500 signed by key " + old.KeyID() + ", "},
		"the new":   {fresh, map[string]int{fresh.KeyID(): 1}, 1503, "records: 1 signed by key " + fresh.KeyID() + ", 1,503 unsigned\n"},
		"no key":    {nil, map[string]int{old.KeyID(): 1500, fresh.KeyID(): 2, stranger.KeyID(): 1}, 1, "no key of this config verifies them)\n"},
	} {
		got, err := countRecords(ctx, client, namespace, c.keys)
		if err != nil || !maps.Equal(got.Signed, c.signed) || got.Unsigned != c.unsigned || got.Verified != (c.keys != nil) {
			t.Errorf("%s: %+v, %v; want %v and %d unsigned", name, got, err, c.signed, c.unsigned)
		}
		var out bytes.Buffer
		if printFleetKeys(&out, &redis.Fleet{}, &got, false); !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: it prints %q, without %q", name, out.String(), c.says)
		}
	}

	var out bytes.Buffer
	printFleetKeys(&out, &redis.Fleet{}, &fleetRecords{Unsigned: 3}, false)
	if !strings.HasPrefix(out.String(), "no key: who can write to Redis") {
		t.Errorf("a fleet without a key: %q", out.String())
	}
	out.Reset()
	signing := redis.NodeStatus{Heartbeat: aggregator.Heartbeat{Key: old.KeyID(), Mode: "accept"}}
	printFleetKeys(&out, &redis.Fleet{Nodes: []redis.NodeStatus{signing}}, &fleetRecords{Unsigned: 3}, false)
	if !strings.HasPrefix(out.String(), "records: 3 unsigned") || nodeKey(&signing) != old.KeyID()+" accept" || nodeKey(&redis.NodeStatus{}) != "none" {
		t.Errorf("a fleet with a key: %q, %q", out.String(), nodeKey(&signing))
	}
}

// The table of the fleet shows whose rules are others.
func TestFleetTableHasTheRules(t *testing.T) {
	var out bytes.Buffer
	e := &command.Env{Stdout: &out}
	f := redis.Fleet{Nodes: []redis.NodeStatus{
		{Heartbeat: aggregator.Heartbeat{Node: "edge-a", Rules: "00000000000000aa"}, Alive: true},
		{Heartbeat: aggregator.Heartbeat{Node: "edge-b", Rules: "00000000000000bb"}, Alive: true},
	}}
	printFleet(e, &f, &fleetRecords{})
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"rules", "00000000000000aa", "00000000000000bb"} {
		if line := lines[len(lines)-4+i]; !strings.Contains(line, want) {
			t.Errorf("%q is without %s", line, want)
		}
	}
}
