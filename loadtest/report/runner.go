package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"edgeguard/loadtest/scale"
)

// runner measures, and remembers what it has measured, so that several figures
// can come from one run. Not safe for concurrent use: two measurements at once
// would spoil each other.
type runner struct {
	ctx       context.Context
	root      string // the project's folder
	dir       string // for what is built and generated; removed at the end
	rounds    int
	benchtime string
	notes     io.Writer // what is being done
	idle      bool      // measure nothing

	benches map[benchRun]benched
	races   map[string]raced
	binary  string // the program, once it is built

	scale       *scale.Figures // once they are measured
	scaleFailed error
}

// conditions says under what the figures were taken.
func (r *runner) conditions() string {
	if r.idle {
		return ""
	}
	return fmt.Sprintf("Measured on %s: %s, %d cores, %s/%s, %s; median of %d rounds.",
		time.Now().UTC().Format("2006-01-02"), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), r.rounds)
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
