package blocks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/safetext"
	"edgeguard/internal/sheetcell"
)

// writtenColumns are the columns of a table that is written.
var writtenColumns = []string{"prefix", "rule", "owner", "reason", "origin", "since", "until"}

// ignoredColumns are columns of the API's table that make no difference to a block.
var ignoredColumns = []string{"count", "limit", "proxied", "refused", "last_refused", "refused_by"}

// column returns the name of a column as it is compared.
func column(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// readHeader reads the names of the columns.
func readHeader(text string, comma rune) ([]string, error) {
	cells, err := split(text, comma)
	if err != nil {
		return nil, err
	}
	for i, cell := range cells {
		name := column(cell)
		switch {
		case slices.Contains(cells[:i], name):
			return nil, fmt.Errorf("the column %s is there twice", name)
		case !slices.Contains(writtenColumns, name) && !slices.Contains(ignoredColumns, name) && name != "for":
			return nil, fmt.Errorf("unknown column %s: use %s or for", quote(cell), strings.Join(writtenColumns, ", "))
		}
		cells[i] = name
	}
	if !slices.Contains(cells, "prefix") {
		return nil, fmt.Errorf("there is no column prefix: the first line names the columns, of %s and for", strings.Join(writtenColumns, ", "))
	}
	return cells, nil
}

// rowEntry reads a row of a table.
func rowEntry(text string, comma rune, columns []string) (e fileEntry, err error) {
	cells, err := split(text, comma)
	if err != nil {
		return e, err
	}
	if len(cells) != len(columns) {
		return e, fmt.Errorf("%d cells, the first line names %d columns", len(cells), len(columns))
	}
	for i, cell := range cells {
		switch cell = strings.TrimSpace(cell); columns[i] {
		case "prefix":
			e.Prefix = cell
		case "rule":
			e.Rule = sheetcell.Unquote(cell)
		case "owner":
			e.Owner = sheetcell.Unquote(cell)
		case "reason":
			e.Reason = sheetcell.Unquote(cell)
		case "origin":
			e.Origin = sheetcell.Unquote(cell)
		case "for":
			e.For = cell
		case "since", "until":
			if cell == "" {
				continue
			}
			at, wrong := time.Parse(time.RFC3339, cell)
			if wrong != nil {
				return e, fmt.Errorf("%s: %s is not a time such as 2026-03-01T12:00:00Z", columns[i], quote(cell))
			}
			if columns[i] == "since" {
				e.Since = at
			} else {
				e.Until = at
			}
		}
	}
	if e.Prefix == "" {
		return e, errNothing
	}
	return e, nil
}

// cells returns the row of an entry.
func (e *fileEntry) cells() []string {
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	cell := sheetcell.Quote
	return []string{e.Prefix, cell(e.Rule), cell(e.Owner), cell(e.Reason), cell(e.Origin), instant(e.Since), instant(e.Until)}
}

// quote returns the beginning of a text of the file as a message shows it.
func quote(text string) string { return strconv.Quote(clip(text)) }

// clip returns the beginning of a text, without what a terminal would act on.
func clip(text string) string {
	const most = 80
	if text = safetext.Strip(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
