package report

import (
	"fmt"
	"strconv"
	"strings"
)

// countInstructions is the command whose figures a change is judged by: instructions
// are the same on every machine.
const countInstructions = "go run ./loadtest/instructions"

func instructionsGroup() group {
	op := func(what string, g goal, name string) figure {
		return figure{what: what, goal: g, command: countInstructions, measure: func(r *runner) (reading, error) {
			all, err := r.instructions()
			if err != nil {
				return reading{}, err
			}
			n, ok := all[name]
			if !ok {
				return reading{}, fmt.Errorf("loadtest/instructions has no operation %s", name)
			}
			if r.quoted {
				return reading{n, "by the committed table"}, nil
			}
			return reading{value: n}, nil
		}}
	}
	return group{
		name: "instructions", title: "Instructions", quick: true,
		note: "Counted by valgrind's cachegrind: the same on a busy machine. Each holds 40 to 70 of the loop that measures. `make instructions-check` holds them within 5 % of " +
			"[the table](../loadtest/instructions/table.txt).",
		lines: []figure{
			op("a count, IPv4, cold", atMost(200, ""), "Add/ipv4/cold").in(fastQuestion),
			op("a count, IPv4, dense", atMost(160, ""), "Add/ipv4/dense").in(fastQuestion),
			op("a count, IPv4, in a slot after the key's newest", stated(""), "Add/ipv4/cold-later"),
			op("a count, IPv6, cold", stated(""), "Add/ipv6/cold"),
			op("a count, IPv6, dense", stated(""), "Add/ipv6/dense"),
			op("a count with peaks, as `replay` and `tune` count, cold", stated(""), "Add/peaks/cold"),
			op("a count with an attribute in the key, cold", stated(""), "Add/with/cold"),
			op("a verdict of one rule", stated(""), "Decide/one").in(ruleQuestion),
			op("a verdict of two rules, one counts", atMost(900, ""), "Decide/two").in(fastQuestion, ruleQuestion),
			op("a verdict for IPv6, wide networks not counted", stated(""), "Decide/ipv6/wide-off").in(ruleQuestion),
			op("a verdict for IPv6, with its /56 and /48", stated(""), "Decide/ipv6/wide-on").in(ruleQuestion),
			op("whether the site fails: an answer, IPv4", stated(""), "See/ipv4"),
			op("a rule of four terms that hold", atMost(726, ""), "Match/holds"),
			op("1 rule of a path, it does not match", stated(""), "Rules/1-path").in(ruleQuestion),
			op("20 rules of a path, none matches", atMost(1500, ""), "Rules/20-paths").in(ruleQuestion),
			op("200 rules of a path, none matches", atMost(2000, ""), "Rules/200-paths").in(ruleQuestion),
			op("20 rules that all count", stated(""), "Rules/20-count").in(ruleQuestion),
			op("200 rules that all count", stated(""), "Rules/200-count").in(ruleQuestion),
			op("20 rules, 4 KiB of hostile path", stated(""), "Rules/20-hostile").in(ruleQuestion),
			op("20 rules of several stars, 4 KiB that nearly match", stated(""), "Rules/20-hostile-stars"),
		},
	}
}

// instructions counts the operations once.
func (r *runner) instructions() (map[string]float64, error) {
	if r.counted == nil && r.countFailed == nil {
		if r.countFailed = installed("valgrind"); r.countFailed == nil {
			r.counted, r.countFailed = r.count()
		}
	}
	return r.counted, r.countFailed
}

// count counts the instructions.
func (r *runner) count() (map[string]float64, error) {
	fmt.Fprintf(r.notes, "instructions of each operation\n")
	text, err := r.command(r.root, "go", "run", "./loadtest/instructions").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", countInstructions, err)
	}
	f := &found{dir: "loadtest/instructions", byName: map[string]map[string][]float64{}}
	f.add(text)
	all := map[string]float64{}
	for name := range f.byName {
		if values, err := f.values(name, "instructions/op"); err == nil {
			all[name] = median(values)
		}
	}
	return all, nil
}

// whole writes a count with its thousands apart.
func whole(n float64) string {
	text := strconv.FormatFloat(n, 'f', 0, 64)
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 && text[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}
