package rules_test

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"edgeguard/rules"
)

func TestParseGuard(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0.95", "0.95"}, {"1", "1"}, {"1.0", "1"}, {"0.950", "0.95"}, {"0.000001", "0.000001"}, {"0.5", "0.5"}, {"1.", "1"},
		{"0", ""}, {"0.0", ""}, {"1.000001", ""}, {"2", ""}, {"-0.5", ""}, {"", ""}, {".", ""}, {".5", ""}, {"0.1234567", ""},
		{"95%", ""}, {"0,95", ""}, {"1e-1", ""}, {"0x1", ""}, {"00.5", ""}, {"0.9.5", ""}, {" 0.5", ""},
	} {
		guard, err := rules.ParseGuard(c.text)
		if (err == nil) != (c.want != "") {
			t.Errorf("%q: error %v", c.text, err)
		}
		if err == nil && guard.String() != c.want {
			t.Errorf("%q: %v, want %s", c.text, guard, c.want)
		}
	}
}

func TestGuardLimit(t *testing.T) {
	for _, c := range []struct {
		guard            string
		threshold, limit uint32
	}{
		{"0.95", 2000, 1900}, {"0.95", 5, 5}, {"0.95", 20, 19}, {"0.95", 21, 20}, {"0.95", 1, 1},
		{"1", 2000, 2000}, {"0.5", 3, 2}, {"0.000001", 2000, 1}, {"0.95", 100, 95}, {"0.07", 100, 7}, // 0.07*100 is 7.000000000000001 in floats
		{"1", 4294967295, 4294967295},
	} {
		guard, err := rules.ParseGuard(c.guard)
		if err != nil {
			t.Fatal(err)
		}
		if got := guard.Limit(c.threshold); got != c.limit {
			t.Errorf("%s of %d: %d, want %d", c.guard, c.threshold, got, c.limit)
		}
	}
}

// TestGuardAgainstTwin computes limits in exact fractions.
func TestGuardAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		guard, threshold := rules.Guard(1+random.IntN(1_000_000)), random.Uint32()
		exact, ok := new(big.Rat).SetString(guard.String())
		if !ok {
			t.Fatalf("%v is no decimal", guard)
		}
		exact.Mul(exact, new(big.Rat).SetInt64(int64(threshold)))
		ceil := new(big.Int).Add(exact.Num(), new(big.Int).Sub(exact.Denom(), big.NewInt(1)))
		ceil.Div(ceil, exact.Denom())
		if got := guard.Limit(threshold); uint64(got) != ceil.Uint64() {
			t.Fatalf("%v of %d: %d, exactly %v", guard, threshold, got, ceil)
		}
		if again, err := rules.ParseGuard(guard.String()); err != nil || again != guard {
			t.Fatalf("%v reads back as %v, %v", guard, again, err)
		}
	}
}
