// Command house measures the structure of this checkout: rooms and arrows,
// sizes of packages, files and functions. It prints a table, and with -write puts
// it between the markers of a page, which must stand in it:
//
//	go run ./internal/house -write docs/architecture.md
//
// It fails if a package is larger than the ceiling, or larger than most and no
// reason is given in [reasons].
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	write := flag.String("write", "", "write the table between the markers of this `file`")
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(write string) error {
	h, err := read(".")
	if err != nil {
		return err
	}
	table := h.table()
	if write == "" {
		fmt.Print(table)
	} else if err := replace(write, table); err != nil {
		return err
	}
	return h.check()
}

// The lines between which the table stands in a page.
const begin, end = "<!-- house: begin -->\n", "<!-- house: end -->\n"

func replace(file, table string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(page), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s: the lines %q and %q must stand in it", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(file, []byte(head+begin+table+end+tail), 0o644)
}
