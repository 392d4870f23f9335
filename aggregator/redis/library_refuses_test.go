package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
)

// TestLibraryRefuses is what is not a call: a clear error, and nothing changes.
func TestLibraryRefuses(t *testing.T) {
	b := newBoth(t, "refuses")
	now := time.Unix(1_700_000_000, 0)
	header := string(aggregator.NewHeader([8]byte{1}, now, 5).Append(nil))
	p := aggregator.Push{First: uint32(now.Unix() / 5), Sum: 1, Counts: []uint16{1}}
	body, key := string(p.AppendBody(nil)), "eg:{t/0}:k:1"
	blocks := newNames("t", 1)
	b.claim()
	before := b.dump()
	for _, c := range []struct {
		function string
		keys     []string
		args     []string
	}{
		{"push", []string{clockKey}, []string{header}},
		{"push", []string{clockKey, key}, []string{header}},
		{"push", []string{clockKey, key}, []string{header, body, body}},
		{"push", append([]string{clockKey}, slices.Repeat([]string{key}, 201)...), append([]string{header}, slices.Repeat([]string{body}, 201)...)},
		{"push", []string{clockKey, key}, []string{header[1:], body}},
		{"push", []string{clockKey, key}, []string{header[:16] + "\x00\x00\x00\x00", body}},
		{"push", []string{clockKey, key, key}, []string{header, body, body[1:]}},
		{"push", []string{clockKey, key, key}, []string{header, body, body[:8]}},
		{"push", []string{clockKey, key, key}, []string{header, body, ""}},
		{"push", []string{clockKey, key, key}, []string{header, body, body + strings.Repeat("ab", 60)}},
		{"push", []string{clockKey, key, key}, []string{header, body, "\xff\xff\xff\xff" + body[4:] + "ab"}},
		{"split", []string{key}, nil},
		{"split", []string{key}, []string{"x"}},
		{"split", []string{key}, []string{"-1"}},
		{"split", []string{key}, []string{"1", "slot"}},
		{"split", []string{key}, []string{"1", "slots", "slots"}},
		{"split", []string{key, key}, []string{"1"}},
		{"forget", nil, []string{"1", "5"}},
		{"forget", []string{key}, []string{"1"}},
		{"forget", []string{key}, []string{"1", "0"}},
		{"forget", []string{key}, []string{"one", "5"}},
		{"forget", []string{key}, []string{"4294967296", "5"}},
		{"forget", []string{key}, []string{"1", "5", "x"}},
		{"forget", []string{key}, []string{"1", "5", "4294967296"}},
		{"forget", []string{key}, []string{"1", "5", "1", "1"}},
		{"publish", blocks.publishKeys()[1:], []string{"1"}},
		{"publish", blocks.publishKeys(), []string{"1", "10.0.0.0/8"}},
		{"publish", blocks.publishKeys(), []string{"now"}},
		{"publish", blocks.publishKeys(), nil},
		{"publish", blocks.publishKeys(), []string{"1", "10.0.0.0/8", "x"}},
		{"publish", blocks.publishKeys(), []string{"1", "10.0.0.0/8", "x", strings.Repeat("m", 20)}},
		{"publish", blocks.publishKeys(), []string{"1", "10.0.0.0/8", "x", "", "11.0.0.0/8", "x", strings.Repeat("m", 22)}},
		{"publish", append(blocks.publishKeys(), blocks.nodes), []string{"1"}},
		{"replace", blocks.publishKeys()[1:], []string{"10.0.0.0/8", "x", "", ""}},
		{"replace", blocks.publishKeys(), nil},
		{"replace", blocks.publishKeys(), []string{"10.0.0.0/8", "x", ""}},
		{"replace", blocks.publishKeys(), []string{"10.0.0.0/8", "x", "", "m"}},
		{"repair", []string{blocks.state}, []string{"0", "0000000000000000"}},
		{"repair", []string{blocks.state}, []string{"-1", "0000000000000000", "0000000000000000"}},
		{"repair", []string{blocks.state}, []string{"0", "0", "0000000000000000"}},
		{"repair", []string{blocks.state}, []string{"0", "0000000000000000", "000000000000000G"}},
		{"beat", blocks.memberKeys()[1:], []string{"", "", "16", "0", "0", ""}},
		{"beat", blocks.memberKeys(), []string{"", "16"}},
		{"beat", blocks.memberKeys(), []string{"", "", "16"}},
		{"beat", blocks.memberKeys(), []string{"a", strings.Repeat("x", 1025), "16", "0", "0", ""}},
		{"beat", blocks.memberKeys(), []string{"", "", "16", "-2", "0", ""}},
		{"beat", blocks.memberKeys(), []string{"", "", "16", "x", "0", ""}},
		{"beat", blocks.memberKeys(), []string{"", "", "16", "0", "0", "run"}},
	} {
		if b.call(now, c.function, c.keys, c.args) != nil {
			t.Errorf("%s %q %q is carried out", c.function, c.keys, c.args)
		}
	}
	if after := b.dump(); after != before {
		t.Fatalf("refused calls changed\n%s to\n%s", before, after)
	}
}

// TestLibraryStaysInItsKeys: a node's user reaches no other namespace, no
// script, and no other data.
func TestLibraryStaysInItsKeys(t *testing.T) {
	b := newBoth(t, "keys")
	ctx := context.Background()
	other := newNames("u", 1)
	for name, err := range map[string]error{
		"another namespace": b.node.FCall(ctx, LibraryName+"_beat", other.memberKeys(), "a", "b", "16", "0", "0", "").Err(),
		"a plain key":       b.node.Get(ctx, "a").Err(),
		"eval":              b.node.Eval(ctx, "return 1", nil).Err(),
		"load":              b.node.FunctionLoadReplace(ctx, LibrarySource).Err(),
		"flush":             b.node.FlushAll(ctx).Err(),
		"config":            b.node.ConfigGet(ctx, "*").Err(),
		"keys":              b.node.Keys(ctx, "*").Err(),
	} {
		if err == nil || errors.Is(err, goredis.Nil) || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
