package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what was measured. A part that was not asked for is nil.
type Report struct {
	Full   bool
	Only   []string
	Time   Stamp
	Parts  Parts
	Groups []Table
}

// Stamp is when, on what and beside what it was measured.
type Stamp struct {
	Begun   time.Time
	Took    time.Duration
	Commit  string // with "+" if the tree has changes; empty outside git
	Machine string
	Rounds  int
	// Load is the load average of a minute before the run and at its end, which
	// includes the run's own; empty where the system does not tell it.
	Load [2]string
}

// Table is a group of figures.
type Table struct {
	Name, Title string
	Note        string // what a reader must know to judge the figures
	Rows        []Figure
}

// Figure is one that was measured, beside its goal.
type Figure struct {
	What, Goal string
	Measured   string // or why it was not measured
	Verdict    string // ok, short, or empty where there is no goal or no figure
	Missing    bool
	Command    string // what a reader types to see it alone

	answers []question
}

func begin(root string, rounds int) Stamp {
	return Stamp{Begun: time.Now().UTC().Round(time.Second), Commit: commit(root), Machine: machine(), Rounds: rounds, Load: [2]string{load()}}
}

func (s *Stamp) end() {
	s.Took, s.Load[1] = time.Since(s.Begun).Round(time.Second), load()
}

// String is the stamp in a sentence.
func (s *Stamp) String() string {
	text := fmt.Sprintf("Measured on %s in %s: %s", s.Begun.Format("2006-01-02"), s.Took, s.Machine)
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

// machine is what figures depend on.
func machine() string {
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
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

// Print prints for a terminal what was measured: the answers, the tables of fleets that
// docs/scale.md explains, and the groups.
func (r *Report) Print(w io.Writer) {
	for _, failed := range r.Parts.Failed {
		fmt.Fprintf(w, "%s\n\n", fold(failed))
	}
	for _, s := range r.questions() {
		if s.Table == nil || len(s.Table.Rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\n\n", s.Question)
		for _, says := range s.Says {
			fmt.Fprintf(w, "%s\n\n", fold(plain(says)))
		}
		if !s.Aside {
			printColumns(w, s.Table.Head, s.Table.Rows)
			continue
		}
		for _, row := range s.Table.Rows { // sentences
			fmt.Fprintf(w, "%s\n%s\n\n", fold(row[0]), fold(row[2]+": "+row[1]))
		}
	}
	if r.Parts.Fleet != nil {
		r.Parts.Fleet.Print(w)
		fmt.Fprintln(w)
	}
	if r.Parts.Processes != nil {
		r.Parts.Processes.Print(w)
		fmt.Fprintln(w)
	}
	for _, t := range r.Groups {
		fmt.Fprintf(w, "%s\n\n", plain(t.Title))
		var rows [][]string
		for _, row := range t.Rows {
			rows = append(rows, []string{row.What, row.Goal, row.Verdict, row.Measured})
		}
		printColumns(w, []string{"what", "goal", "", "measured"}, rows)
	}
	if !r.Time.Begun.IsZero() {
		fmt.Fprintln(w, r.Time.String())
	}
}

// printColumns prints a table for a terminal.
func printColumns(w io.Writer, head []string, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 8, 0, ' ', 0)
	for _, row := range slices.Concat([][]string{head}, rows) {
		for _, text := range row {
			fmt.Fprintf(tw, "  %s\t", strings.Join(strings.Fields(plain(text)), " ")) // a program may have said it
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush() // an error is w's, which the caller sees
	fmt.Fprintln(w)
}

// fold breaks a text into lines of at most 100 columns, unless a word is longer.
func fold(text string) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case at == 0:
		case at+1+len(word) > 100:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
