package report

import "slices"

// median returns the middle value, or the mean of the two in the middle; 0 of
// none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// medianRatio returns the median over the rounds of a over b. Rounds are paired,
// so that a machine that was slow for one round was so for both.
func medianRatio(a, b []float64) float64 { return median(ratios(a, b)) }

func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, a[i]/b[i])
	}
	return out
}

// spread says between what the rounds' ratios lay; a wide one is a busy
// machine.
func spread(a, b []float64) string {
	if text := between(ratios(a, b), "×"); text != "" {
		return "; " + text
	}
	return ""
}

// between says between what the values of several rounds lay; empty where they are
// one and the same.
func between(all []float64, unit string) string {
	if len(all) < 2 || slices.Min(all) == slices.Max(all) {
		return ""
	}
	return withUnit(slices.Min(all), "") + "–" + withUnit(slices.Max(all), unit)
}
