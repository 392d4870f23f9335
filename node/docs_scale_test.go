package node

import (
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each product of docs/scale.md is what its formula and the page's figures come to, to
// the digits that are written.
func TestDocsScale(t *testing.T) {
	page := read(t, "../docs", "scale.md")
	figures := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| [^|]* \\| ([0-9.,]+) [^|]*\\| [^|]* \\|$").FindAllStringSubmatch(page, -1) {
		figures[row[1]] = strings.ReplaceAll(row[2], ",", "")
	}
	name := regexp.MustCompile(`\b[a-z]{2,}\b`)
	rows := regexp.MustCompile("(?m)^\\| ([^|]*) \\| `([^`]*)` \\| ([0-9.,]+) \\|$").FindAllStringSubmatch(page, -1)
	used := map[string]bool{}
	for _, row := range rows {
		formula := name.ReplaceAllStringFunc(row[2], func(figure string) string {
			used[figure] = true
			if figures[figure] == "" {
				t.Errorf("%s: %q is no figure of the page", row[1], figure)
				return "1"
			}
			return figures[figure] + "*1.0"
		})
		answer, err := types.Eval(token.NewFileSet(), nil, token.NoPos, "1.0*"+formula)
		if err != nil {
			t.Errorf("%s: %s: %v", row[1], formula, err)
			continue
		}
		want, _ := constant.Float64Val(constant.ToFloat(answer.Value))
		written := strings.ReplaceAll(row[3], ",", "")
		got, _ := strconv.ParseFloat(written, 64)
		if math.Abs(got-want) > 0.5*lastDigit(written) {
			t.Errorf("%s: %s is %.4g, and the page says %s", row[1], row[2], want, row[3])
		}
	}
	if len(rows) < 10 || len(figures) < 5 {
		t.Errorf("%d products of %d figures: the page has lost its tables", len(rows), len(figures))
	}
}

// lastDigit is what the last digit of a written number counts that is no zero at its
// end.
func lastDigit(written string) float64 {
	whole, fraction, _ := strings.Cut(written, ".")
	if fraction != "" {
		return math.Pow(10, -float64(len(fraction)))
	}
	zeros := len(whole) - len(strings.TrimRight(whole, "0"))
	return math.Pow(10, float64(min(zeros, len(whole)-2)))
}
