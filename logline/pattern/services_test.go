package pattern

import (
	"slices"
	"testing"
)

// TestServicesAreFixed judges the expressions of each service as an operator's are.
func TestServicesAreFixed(t *testing.T) {
	for i := range services {
		s := &services[i]
		for _, expr := range slices.Concat(s.goesOn, s.closes) {
			if _, _, tree, err := readExpression(expanded(expr)); err != nil || checkFixed(tree, "connection") != nil {
				t.Errorf("%s: %s: %v, %v", s.name, expr, err, checkFixed(tree, "connection"))
			}
		}
		for _, expr := range s.opens {
			_, _, tree, err := readExpression(expanded(expr))
			if err != nil || checkFixed(tree, "addr") != nil || checkFixed(tree, "connection") != nil {
				t.Errorf("%s: %s: %v", s.name, expr, err)
			}
		}
		for _, expr := range s.expressions() {
			if _, err := CompileExpressions("", expr); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}
