package pattern

import "testing"

// TestServicesAreFixed judges the expressions of each service as an operator's are.
func TestServicesAreFixed(t *testing.T) {
	for i := range services {
		s := &services[i]
		for _, expr := range s.expressions() {
			if _, err := CompileExpressions("", expr); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}
