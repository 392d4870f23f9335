package nginx_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"edgeguard/migrate/nginx"
)

// TestRate compares the threshold with nginx's leaky bucket, as its documentation and its
// answers have it, for random rates, bursts and clients. Nobody whom nginx never refuses is
// over the threshold in any minute of whole seconds, and somebody comes up to it.
func TestRate(t *testing.T) {
	spared, refused, closest := 0, 0, 1.0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 60))
		perMinute, burst := pick(r, []int{6, 30, 60, 120, 600}), pick(r, []int{0, 1, 5, 20, 100})
		report, err := nginx.Import(fmt.Appendf(nil, "limit_req_zone $binary_remote_addr zone=a:1m rate=%dr/m;\nserver { limit_req zone=a burst=%d nodelay; }", perMinute, burst))
		if err != nil || len(report.Specs()) != 1 {
			t.Fatal(err, report.Missing())
		}
		limit := int(report.Specs()[0].Threshold)
		times := client(r, perMinute, burst)
		if bucket(times, perMinute, burst) {
			refused++
			continue
		}
		spared++
		most := busiest(times)
		if most > limit {
			t.Errorf("seed %d: nginx lets %d requests of a minute pass, and the threshold is %d", seed, most, limit)
		}
		closest = min(closest, 1-float64(most)/float64(limit))
	}
	if spared < 50 || refused < 50 || closest > 0.01 {
		t.Errorf("%d clients were never refused, %d were; the nearest came to %.0f %% below the threshold", spared, refused, 100*closest)
	}
}

// client returns when a client asks, in milliseconds: after a pause as many as pass at
// once, then steadily, and at times a few together.
func client(r *rand.Rand, perMinute, burst int) (times []int) {
	gap := 60_000 / perMinute
	gap += gap * pick(r, []int{-2, 0, 0, 1, 10}) / 10
	now := r.IntN(60_000)
	for range r.IntN(burst + 2) {
		times = append(times, now)
	}
	for range 2 * perMinute {
		now += gap + r.IntN(2)
		for range 1 + max(0, r.IntN(50)-48) {
			times = append(times, now)
		}
	}
	return times
}

// bucket reports whether nginx refuses one of the requests. It counts in thousandths.
func bucket(times []int, perMinute, burst int) bool {
	excess, last := -1, 0
	for _, now := range times {
		if excess < 0 {
			excess, last = 0, now
			continue
		}
		after := max(0, excess-perMinute*(now-last)/60+1000)
		if after > burst*1000 {
			return true
		}
		excess, last = after, now
	}
	return false
}

// busiest returns the most requests within sixty whole seconds.
func busiest(times []int) (most int) {
	first := 0
	for i, now := range times {
		for times[first]/1000 <= now/1000-60 {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
