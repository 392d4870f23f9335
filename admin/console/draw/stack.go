package draw

import (
	"math"
	"strconv"
)

// StackHeight is how high the drawing of a [Stack] is, and one step is 1 wide: it is stretched to
// the size of its plot.
const StackHeight = 1000

// Stack draws columns on each other, one of each series in each step. Make it with [NewStack].
type Stack struct {
	each  float64 // of StackHeight
	below []float64
}

// NewStack returns a drawing of so many steps; a value of top is as high as it.
func NewStack(steps int, top float64) *Stack {
	return &Stack{StackHeight / top, make([]float64, steps)}
}

// Columns puts a series on those before, and returns the path of its columns.
func (s *Stack) Columns(values []float64) string {
	var path []byte
	for i, v := range values {
		from := s.height(s.below[i])
		s.below[i] += v
		if h := s.height(s.below[i]) - from; h > 0 {
			path = append(strconv.AppendInt(append(path, 'M'), int64(i), 10), ".1 "...)
			path = append(strconv.AppendInt(path, StackHeight-from, 10), 'v')
			path = append(strconv.AppendInt(path, -h, 10), "h.8v"...)
			path = append(strconv.AppendInt(path, h, 10), 'z')
		}
	}
	return string(path)
}

// Steps returns the path of a line that is level in each step, with holes where it is not known.
func (s *Stack) Steps(values []float64, known func(step int) bool) string {
	var path []byte
	for i, v := range values {
		if !known(i) {
			continue
		}
		if i > 0 && known(i-1) {
			path = append(path, 'V')
		} else {
			path = append(strconv.AppendInt(append(path, 'M'), int64(i), 10), ' ')
		}
		path = append(strconv.AppendInt(path, StackHeight-s.height(v), 10), 'H')
		path = strconv.AppendInt(path, int64(i+1), 10)
	}
	return string(path)
}

func (s *Stack) height(v float64) int64 { return int64(math.Round(v * s.each)) }
