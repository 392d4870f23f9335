package report

import "testing"

func TestGoal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		goal    goal
		value   float64
		text    string
		verdict string
	}{
		{"reached", atLeast(4, "×"), 4.2, "≥ 4×", "ok"},
		{"just reached", atLeast(1.5, "×"), 1.5, "≥ 1.5×", "ok"},
		{"not reached", atLeast(4, "×"), 3.99, "≥ 4×", "short"},
		{"within", atMost(64, "B"), 63.2, "≤ 64 B", "ok"},
		{"beyond", atMost(64, "B"), 64.1, "≤ 64 B", "short"},
		{"none at all", atMost(0, ""), 0, "≤ 0", "ok"},
		{"stated", stated("×"), 1, "stated", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.goal.String(); got != tt.text {
				t.Errorf("goal reads %q, want %q", got, tt.text)
			}
			if got := tt.goal.verdict(tt.value); got != tt.verdict {
				t.Errorf("verdict on %v is %q, want %q", tt.value, got, tt.verdict)
			}
		})
	}
}

func TestWithUnit(t *testing.T) {
	for _, tt := range []struct {
		value float64
		unit  string
		want  string
	}{
		{4.284, "×", "4.28×"}, {17.26, "ns", "17.3 ns"}, {446.4, "ns", "446 ns"}, {100, "", "100"}, {0.0661, "M lines/s", "0.07 M lines/s"},
	} {
		if got := withUnit(tt.value, tt.unit); got != tt.want {
			t.Errorf("%v %s reads %q, want %q", tt.value, tt.unit, got, tt.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0}, {"one", []float64{7}, 7}, {"odd", []float64{9, 1, 5}, 5}, {"even", []float64{4, 1, 2, 100}, 3},
	} {
		if got := median(tt.values); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	// The second round was slow for both sides: the ratio does not move.
	if got := medianRatio([]float64{40, 400, 44}, []float64{10, 100, 11}); got != 4 {
		t.Errorf("ratio %v, want 4", got)
	}
}
