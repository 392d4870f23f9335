package words

import "testing"

// TestMeasure: what an ordinary event costs is no figure for people; weights are, as nothing else
// is known of them.
func TestMeasure(t *testing.T) {
	paths, attempts := Measure{Each: 2, One: "different path", Many: "different paths", Exact: 400}, Measure{Each: 4, One: "attempt", Many: "attempts"}
	for _, c := range []struct {
		unit     Measure
		n, limit uint32
		want     string
	}{
		{Measure{Each: 1, One: "request", Many: "requests"}, 1901, 1900, "1,901 requests, limit 1,900"},
		{paths, 12, 10, "6 different paths, limit 5"},
		{paths, 2, 1, "1 different path, limit 0.5"},
		{Measure{Each: 1, One: "different address", Many: "different addresses", Exact: 400}, 401, 9, "more than 400 different addresses, limit 9"},
		{paths, 402, 400, "at least 201 different paths, limit 200"},
		{attempts, 0, 84, "0 attempts, limit 21"},
		{attempts, 86, 82, "21.5 attempts, limit 20.5"},
		{attempts, 5, 4, "1.3 attempts, limit 1"},
		{Weighed(), 1000, 950, "cost 1,000, limit 950"},
		{Measure{}, 1000, 950, "count 1,000, limit 950"},
		{attempts, 1<<32 - 1, 1<<32 - 1, "1,073,741,823.8 attempts, limit 1,073,741,823.8"},
	} {
		if got := c.unit.Beside(c.n, c.limit); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
	if got := paths.Note() + Weighed().Note() + (Measure{}).Note(); got != ", each counts 2" {
		t.Error(got)
	}
}
