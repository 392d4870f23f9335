package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Report is what was measured. A part that was not asked for is nil.
type Report struct {
	Seed   uint64   `json:"seed"`
	Full   bool     `json:"full"`
	Only   []string `json:"only,omitempty"`
	Time   Stamp    `json:"time"`
	Parts  Parts    `json:"parts"`
	Groups []Table  `json:"groups,omitempty"`
}

// Stamp is when, on what and beside what it was measured.
type Stamp struct {
	Begun     time.Time     `json:"begun"`
	Took      time.Duration `json:"took_ns"`
	Commit    string        `json:"commit"` // with "+" if the tree has changes; empty outside git
	Processor string        `json:"processor"`
	Cores     int           `json:"cores"`
	System    string        `json:"system"`
	Go        string        `json:"go"`
	Rounds    int           `json:"rounds"`
	// Load is the load average of a minute before the run and at its end, which
	// includes the run's own; empty where the system does not tell it.
	Load [2]string `json:"load"`
}

// Table is a group of figures.
type Table struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	Note  string   `json:"note"` // what a reader must know to judge the figures
	Rows  []Figure `json:"rows"`
}

// Figure is one that was measured, beside its goal.
type Figure struct {
	What string `json:"what"`
	Goal string `json:"goal"`
	// Time is the figure; what it was made of is in Measured, for people.
	Time     float64 `json:"time_value"`
	Measured string  `json:"time_measured"` // or why it was not measured
	Verdict  string  `json:"time_verdict"`  // ok, short, or empty where there is no goal or no figure
	Missing  bool    `json:"missing,omitempty"`
	Command  string  `json:"command"` // what a reader types to see it alone
}

func begin(root string, rounds int) Stamp {
	return Stamp{
		Begun: time.Now().UTC().Round(time.Second), Commit: commit(root), Processor: processor(), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Rounds: rounds, Load: [2]string{load()},
	}
}

func (s *Stamp) end() {
	s.Took, s.Load[1] = time.Since(s.Begun).Round(time.Second), load()
}

// String is the stamp in a sentence.
func (s *Stamp) String() string {
	text := fmt.Sprintf("Measured on %s in %s: %s, %d cores, %s, %s", s.Begun.Format("2006-01-02"), s.Took, s.Processor, s.Cores, s.System, s.Go)
	if s.Commit != "" {
		text += ", commit " + s.Commit
	}
	text += fmt.Sprintf("; benchmarks are the median of %d %s", s.Rounds, plural(s.Rounds, "round"))
	if s.Load[0] != "" {
		text += fmt.Sprintf("; load average %s before it, %s at its end", s.Load[0], s.Load[1])
	}
	return text + "."
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// load is the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func commit(root string) string {
	git := func(args ...string) string {
		c := exec.Command("git", args...)
		c.Dir = root
		text, err := c.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	name := git("rev-parse", "--short=8", "HEAD")
	if name != "" && git("status", "--porcelain", "--untracked-files=no") != "" {
		name += "+"
	}
	return name
}

// processor is the processor's name where the system tells it.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// WriteJSON writes all of it.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Read reads what [Report.WriteJSON] wrote, to show it again.
func Read(from io.Reader) (*Report, error) {
	d := json.NewDecoder(from)
	d.DisallowUnknownFields() // of another version: half of it would be shown as nothing
	r := new(Report)
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%w: write it with -json of this version", err)
	}
	if r.Time.Begun.IsZero() {
		return nil, errors.New("it holds no report: write it with -json")
	}
	return r, nil
}

// Print prints the tables for a terminal.
func (r *Report) Print(w io.Writer) {
	r.Parts.print(w)
	for _, t := range r.Groups {
		printTable(w, t)
	}
	if !r.Time.Begun.IsZero() {
		fmt.Fprintln(w, r.Time.String())
	}
}
