package key

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/config/yaml"
)

// Endless is the upper bound of a [Span] that has none.
const Endless time.Duration = math.MaxInt64

// AnySize is the upper bound of a [Size] that has none.
const AnySize int64 = math.MaxInt64

// At returns a key that is bound to a field. It is not printed where text returns nothing.
// path leads to the text with its variables that the file has.
func At[T any](name string, to *T, read func(yaml.Node) T, text func(p *yaml.Printer, path string, v T) string, allowed, meaning string) Key {
	k := Key{
		Name: name, Default: text(&yaml.Printer{}, "", *to), Allowed: allowed, Meaning: meaning,
		read: func(n yaml.Node) { *to = read(n) },
		text: func(p *yaml.Printer, path string) string { return text(p, path, *to) },
	}
	if k.Default == "[]" {
		k.Default = ""
	} else if k.Default != "" {
		k.Default = "`" + k.Default + "`"
	}
	return k
}

// Of is At for a value in which no variable is expanded.
func Of[T any](name string, to *T, read func(yaml.Node) T, text func(T) string, allowed, meaning string) Key {
	return At(name, to, read, func(_ *yaml.Printer, _ string, v T) string { return text(v) }, allowed, meaning)
}

// Whole is a whole number.
func Whole[T int | uint32](name string, to *T, least, most uint32, meaning string) Key {
	return Of(name, to, func(n yaml.Node) T { return T(n.Whole(least, most)) }, func(v T) string { return fmt.Sprint(v) },
		fmt.Sprintf("%d to %d", least, most), meaning)
}

// Span is a time, with bounds.
func Span(name string, to *time.Duration, least, most time.Duration, meaning string) Key {
	allowed := "`" + yaml.Duration(least) + "` to `" + yaml.Duration(most) + "`"
	if most == Endless {
		allowed = "at least `" + yaml.Duration(least) + "`"
	}
	return Of(name, to, func(n yaml.Node) time.Duration { return n.Span(least, most) }, yaml.Duration, allowed, meaning)
}

// Size is a number of bytes; [AnySize] is most of those without a bound.
func Size(name string, to *int64, least, most int64, meaning string) Key {
	allowed := "`" + yaml.Size(least) + "` to `" + yaml.Size(most) + "`"
	if most == AnySize {
		allowed = "at least `" + yaml.Size(least) + "`"
	}
	return Of(name, to, func(n yaml.Node) int64 { return n.Size(least, most) }, yaml.Size, allowed, meaning)
}

// Truth is true or false.
func Truth(name string, to *bool, meaning string) Key {
	return Of(name, to, yaml.Node.Truth, strconv.FormatBool, "`true`, `false`", meaning)
}

// Word is one of some words, each of which means a value.
func Word[T comparable](name string, to *T, words []string, values []T, meaning string) Key {
	read := func(n yaml.Node) (v T) {
		if i := slices.Index(words, n.Choice(words...)); i >= 0 {
			v = values[i]
		}
		return v
	}
	text := func(v T) string {
		if i := slices.Index(values, v); i >= 0 {
			return words[i]
		}
		return ""
	}
	return Of(name, to, read, text, "`"+strings.Join(words, "`, `")+"`", meaning)
}

// Either is one of two words: no for false, yes for true.
func Either(name string, to *bool, no, yes, meaning string) Key {
	return Word(name, to, []string{no, yes}, []bool{false, true}, meaning)
}

// Choice is one of some words.
func Choice(name string, to *string, words []string, meaning string) Key {
	return Word(name, to, words, words, meaning)
}

// Text is text in which no variable is expanded.
func Text(name string, to *string, read func(yaml.Node) string, allowed, meaning string) Key {
	text := func(v string) string {
		if v == "" {
			return ""
		}
		return yaml.Quote(v)
	}
	return Of(name, to, read, text, allowed, meaning)
}

// Like is text of a form; want says it in an error.
func Like(name string, to *string, form *regexp.Regexp, want, meaning string) Key {
	return Text(name, to, func(n yaml.Node) string { return n.Like(form, want) }, want, meaning)
}

// Value is text in which variables are expanded.
func Value(name string, to *string, read func(yaml.Node) string, allowed, meaning string) Key {
	return At(name, to, read, quoted, allowed, meaning)
}

// Path is an absolute path.
func Path(name string, to *string, meaning string) Key {
	return Value(name, to, yaml.Node.AbsPath, "a path", meaning)
}

// Address is where something listens.
func Address(name string, to *yaml.Address, read func(yaml.Node) yaml.Address, allowed, meaning string) Key {
	text := func(p *yaml.Printer, path string, v yaml.Address) string { return quoted(p, path, v.String()) }
	return At(name, to, read, text, allowed, meaning)
}

func quoted(p *yaml.Printer, path, v string) string {
	if v == "" {
		return ""
	}
	return p.Quote(path, v)
}

// Prefixes is a list of prefixes.
func Prefixes(name string, to *[]netip.Prefix, meaning string) Key {
	return At(name, to, yaml.Node.Prefixes, (*yaml.Printer).Prefixes, "prefixes", meaning)
}

// Words is a list of texts, which is not printed while it is empty.
func Words(name string, to *[]string, read func(yaml.Node) []string, allowed, meaning string) Key {
	text := func(all []string) string {
		if len(all) == 0 {
			return ""
		}
		return yaml.Flow(all)
	}
	return Of(name, to, read, text, allowed, meaning)
}
