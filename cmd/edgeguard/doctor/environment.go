package doctor

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostEnvironment bounds what is read of a file of variables.
const mostEnvironment = 1 << 20

// Adopt sets the variables that the unit gives its node in this process, if that node
// uses a config. So a command reads the config as the node does.
func Adopt(ctx context.Context, read func(context.Context) (Unit, error), configFile string) {
	u, err := read(ctx)
	if err != nil || !u.Uses(configFile) {
		return
	}
	for _, variable := range u.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		_ = os.Setenv(name, value) // a name that cannot be set is in no config either
	}
}

// Uses reports whether the unit's node reads this config.
func (u *Unit) Uses(file string) bool {
	words := strings.Fields(u.Command)
	return u.Found && (slices.Contains(words, file) || slices.Contains(words, "--config="+file))
}

// Environment returns NAME=VALUE for each variable that the unit sets, the ones of its
// files last: they have precedence. A file that this user cannot read is left out.
func (u *Unit) Environment() []string {
	var all []string
	for _, line := range u.Variables {
		all = append(all, assignments(unitWords(line))...)
	}
	for _, line := range u.Files {
		// systemctl show adds whether a missing file is an error; a unit has "-" for it.
		pattern, _, _ := strings.Cut(strings.TrimPrefix(line, "-"), " (")
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			all = append(all, fromFile(name)...)
		}
	}
	return all
}

// fromFile reads the lines NAME=VALUE of a file, in the syntax of EnvironmentFile. A value
// over several lines is not known: no path or address has one.
func fromFile(name string) []string {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, mostEnvironment))
	if err != nil {
		return nil
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, value, found := strings.Cut(line, "="); found && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			all = append(all, strings.TrimSpace(name)+"="+unquoted(strings.TrimSpace(value)))
		}
	}
	return assignments(all)
}

// assignments returns the texts that are NAME=VALUE.
func assignments(texts []string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return strings.Index(text, "=") < 1 })
}

// unitWords splits a line at its spaces, but for those in quotes.
func unitWords(line string) []string {
	var all []string
	begin, quote := 0, rune(0)
	for i, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == ' ':
			if begin < i {
				all = append(all, unquoted(line[begin:i]))
			}
			begin = i + 1
		}
	}
	return all
}

// unquoted returns a text without its quotes. Outside of single quotes, a backslash keeps
// the character behind it.
func unquoted(text string) string {
	var b strings.Builder
	quote, escaped := rune(0), false
	for _, c := range text {
		switch {
		case escaped:
			b.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
