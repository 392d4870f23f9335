package report

import (
	"slices"
	"strings"
	"testing"
)

const output = `goos: linux
pkg: edgeguard/shard
BenchmarkAdd/cold/obvious/independent-2         	  300000	       694.5 ns/op	       0 B/op	       0 allocs/op
BenchmarkAdd/cold/batch64-2 	 9 	 52 ns/op
BenchmarkMemory 	       1	  61.25 B/key	        10000000 keys
Benchmarks are fun
PASS
`

func TestFoundReadsBenchmarkOutput(t *testing.T) {
	f := &found{dir: "shard", byName: map[string]map[string][]float64{}}
	f.add([]byte(output))
	f.add([]byte(strings.Replace(output, "694.5", "700", 1)))
	for _, tt := range []struct {
		name, unit string
		want       []float64
		wrong      string
	}{
		{"Add/cold/obvious/independent", "ns/op", []float64{694.5, 700}, ""},
		{"Add/cold/obvious/independent", "allocs/op", []float64{0, 0}, ""},
		{"Add/cold/batch64", "ns/op", []float64{52, 52}, ""},
		{"Memory", "B/key", []float64{61.25, 61.25}, ""},
		{"Memory", "ns/op", nil, "benchmark Memory of shard reports no ns/op"},
		{"Flood", "offenders", nil, "shard has no benchmark Flood"},
	} {
		got, err := f.values(tt.name, tt.unit)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: %v, want %v", tt.name, tt.unit, got, tt.want)
		}
		if text := errorText(err); text != tt.wrong {
			t.Errorf("%s %s: error %q, want %q", tt.name, tt.unit, text, tt.wrong)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCommandIsWhatAReaderTypes(t *testing.T) {
	for _, tt := range []struct {
		run  benchRun
		want string
	}{
		{benchRun{dir: "shard", pattern: "Flood", times: 1}, "go test -run '^$' -bench 'Flood' -benchtime 1x ./shard"},
		{benchRun{dir: peersDir, pattern: "."}, "go test -C loadtest/peers -run '^$' -bench '.'"},
	} {
		if got := tt.run.command(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
