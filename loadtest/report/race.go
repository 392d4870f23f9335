package report

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// contender is one program in a race.
type contender struct {
	args  []string
	units int // lines or packets that it reads
	// check looks at what it printed, so that a program that read nothing
	// does not win.
	check func(output []byte) error
}

// lap is one run of a contender.
type lap struct {
	wall, cpu time.Duration
}

// raced is the outcome of a race, lap by lap: perUnit and cpuPerUnit are
// nanoseconds, ours first.
type raced struct {
	perUnit, cpuPerUnit [2][]float64
	err                 error
}

// race lets two programs run in turns, each round in the other order, and
// remembers the outcome under name.
func (r *runner) race(name string, ours, theirs contender) (raced, error) {
	if done, ok := r.races[name]; ok {
		return done, done.err
	}
	result := r.runRace(name, [2]contender{ours, theirs})
	if r.races == nil {
		r.races = map[string]raced{}
	}
	r.races[name] = result
	return result, result.err
}

func (r *runner) runRace(name string, both [2]contender) raced {
	var result raced
	for n := range r.rounds {
		fmt.Fprintf(r.notes, "%s, round %d of %d\n", name, n+1, r.rounds)
		for turn := range both {
			who := turn ^ n&1
			c := both[who]
			took, err := r.lap(c)
			if err != nil {
				return raced{err: err}
			}
			result.perUnit[who] = append(result.perUnit[who], float64(took.wall)/float64(c.units))
			result.cpuPerUnit[who] = append(result.cpuPerUnit[who], float64(took.cpu)/float64(c.units))
		}
	}
	return result
}

func (r *runner) lap(c contender) (lap, error) {
	var output, notes bytes.Buffer
	cmd := r.command("", c.args[0], c.args[1:]...)
	cmd.Stdout, cmd.Stderr = &output, &notes
	start := time.Now()
	err := cmd.Run()
	took := lap{wall: time.Since(start)}
	if err != nil {
		return lap{}, fmt.Errorf("%s: %w: %s", strings.Join(c.args, " "), err, firstLine(notes.Bytes()))
	}
	took.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if c.check != nil {
		if err := c.check(output.Bytes()); err != nil {
			return lap{}, err
		}
	}
	return took, nil
}

// installed says how to get a peer that is not there.
func installed(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed (apt-get install %s)", program, program)
	}
	return nil
}

// speed is the figure "how many times as fast, by the wall clock", with both
// rates and the ratio of the processor time.
func (o raced) speed(unit string) reading {
	rate := func(ns []float64) string { return withUnit(1000/median(ns), "M "+unit+"/s") }
	return reading{
		value: medianRatio(o.perUnit[1], o.perUnit[0]),
		detail: fmt.Sprintf("%s against %s; %s by processor time", rate(o.perUnit[0]), rate(o.perUnit[1]),
			withUnit(medianRatio(o.cpuPerUnit[1], o.cpuPerUnit[0]), "×")) + spread(o.perUnit[1], o.perUnit[0]),
	}
}
