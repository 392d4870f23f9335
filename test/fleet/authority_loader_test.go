package fleet

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"edgeguard/aggregator/redis"
)

// A loader's user may replace the functions, and so withhold and forge counts; it makes
// no record.
func TestWhoLoads(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	rights := strings.TrimPrefix(redis.LoaderACL("loader"), "ACL SETUSER loader on >PASSWORD ")
	loader := g.as("loader", "loader", rights)
	// The functions of a thief add a block of their own to each that is published.
	p, forged := netip.MustParsePrefix("203.0.113.10/32"), netip.MustParsePrefix("203.0.0.0/16")
	record := g.thief().record(forged, nil)
	hostile := strings.Replace(redis.LibrarySource, "local function publish(keys, args)", fmt.Sprintf(`local function publish(keys, args)
  redis.call('HSET', keys[1], '%s', ((%q):gsub('..', function(x) return string.char(tonumber(x, 16)) end)))`, forged, hex.EncodeToString([]byte(record))), 1)
	if hostile == redis.LibrarySource {
		t.Fatal("the library has another publish")
	}
	if err := loader.FunctionLoadReplace(background, hostile).Err(); err != nil {
		t.Fatal(err)
	}
	g.block(g.nodes[0], p)
	g.nodes[0].Until("the forged record is in Redis", func() bool {
		return g.redis.HGet(background, blocksKey("blocks"), forged.String()).Val() == record
	})
	g.nodes[1].reload()
	g.twice(func(when string) { g.noneRefused(when, p) })
}
