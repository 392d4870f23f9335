package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	large   = 1000 // lines from which on a package needs a reason
	ceiling = 3300 // lines that no package may have
)

// table is the house as Markdown.
func (h *house) table() string {
	var b strings.Builder
	rooms, arrows, circles := h.rooms()
	fmt.Fprintf(&b, "| what | figure |\n|---|---|\n")
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	row("rooms (top folders with product code), arrows between them, circles", "%d, %d, %d", rooms, arrows, circles)
	row("`"+nodeFolder+"."+nodeType+"`: methods, fields", "%d, %d", h.methods, h.fields)
	row("functions: number, median, 90 %, longest", "%d, %d, %d, %d lines", len(h.functions), quantile(h.functions, .5), quantile(h.functions, .9), quantile(h.functions, 1))
	row("files: number, median, 90 %, longest", "%d, %d, %d, %d lines", len(h.files), quantile(h.files, .5), quantile(h.files, .9), quantile(h.files, 1))
	row("product lines (without `loadtest/` and `internal/`)", "%d", h.product)
	row("test lines", "%d", h.tests)
	fmt.Fprintf(&b, "\n| package over %d lines | lines | files | why it is one package |\n|---|---|---|---|\n", large)
	for _, folder := range h.large() {
		p := h.packages[folder]
		fmt.Fprintf(&b, "| `%s` | %d | %d | %s |\n", folder, p.lines, p.files, reasons[folder])
	}
	return b.String()
}

// large returns the packages that need a reason, the largest first.
func (h *house) large() []string {
	over := slices.DeleteFunc(slices.Collect(maps.Keys(h.packages)), func(f string) bool { return h.packages[f].lines <= large })
	slices.SortFunc(over, func(a, b string) int { return h.packages[b].lines - h.packages[a].lines })
	return over
}

// check reports what the house does not allow.
func (h *house) check() error {
	var errs []error
	for _, folder := range h.large() {
		if n := h.packages[folder].lines; n > ceiling {
			errs = append(errs, fmt.Errorf("%s has %d lines, more than %d: split it", folder, n, ceiling))
		}
		if reasons[folder] == "" {
			errs = append(errs, fmt.Errorf("%s has more than %d lines: split it, or say in internal/house/reasons.go why it is one package", folder, large))
		}
	}
	for folder := range reasons {
		if p := h.packages[folder]; p == nil || p.lines <= large {
			errs = append(errs, fmt.Errorf("%s needs no reason any more: take it out of internal/house/reasons.go", folder))
		}
	}
	return errors.Join(errs...)
}
