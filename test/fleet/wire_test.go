package fleet

import (
	"strconv"
	"testing"
	"time"

	"edgeguard/internal/redistest"
)

// BenchmarkWire measures what a pushed key takes of the network, to Redis and back:
// of two nodes that report every key, beside their heartbeats and streams.
func BenchmarkWire(b *testing.B) {
	for range b.N {
		f := newFleet(b, settings{Nodes: 2, Clients: 5000, Rate: 5000, Even: true}, redistest.Start(b, redistest.Options{}))
		f.start()
		f.feed()
		bytes := func(which string) float64 {
			info, err := f.redis.InfoMap(background, "stats").Result()
			if err != nil {
				b.Fatal(err)
			}
			n, _ := strconv.ParseFloat(info["Stats"][which], 64)
			return n
		}
		pushed := func() (keys float64) {
			for _, n := range f.nodes {
				keys += float64(n.link.Stats().Keys)
			}
			return keys
		}
		time.Sleep(3 * time.Second) // the first pushes are full
		in, out, keys := bytes("total_net_input_bytes"), bytes("total_net_output_bytes"), pushed()
		time.Sleep(10 * time.Second)
		in, out, keys = bytes("total_net_input_bytes")-in, bytes("total_net_output_bytes")-out, pushed()-keys
		figure(b, "to Redis, of a pushed key", in/keys, "in-B/key", 100)
		figure(b, "from Redis, of a pushed key", out/keys, "out-B/key", 50)
		b.ReportMetric(keys/10, "keys/s")
		f.end()
	}
}
