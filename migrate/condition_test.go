package migrate_test

import (
	"fmt"
	"testing"

	"edgeguard/migrate"
	"edgeguard/rules"
)

func text(t *testing.T, field migrate.ConditionField, op migrate.Op, value string, fold bool) *migrate.Condition {
	t.Helper()
	n, err := migrate.TextIs(field, op, value, fold)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What match can say stands there, and the rest in when. That both together mean the
// condition is tested where other programs' languages are read.
func TestWrite(t *testing.T) {
	a := text(t, migrate.Path, migrate.Begins, "/a", false)
	star := text(t, migrate.Path, migrate.Equals, "/*", false)
	post := text(t, migrate.Method, migrate.Equals, "post", true)
	agent := text(t, migrate.Agent, migrate.Contains, `"`, false)
	host := text(t, migrate.Host, migrate.Ends, ".Example.org", true)
	for _, c := range []struct {
		n           *migrate.Condition
		match, when string
	}{
		{migrate.Always(), "", ""},
		{migrate.AllOf(a, post), "method [POST] path [/a*]", ""},
		{migrate.AnyOf(a, star), "path [/a* /%2A]", ""},
		{migrate.AnyOf(a, migrate.Always()), "", ""},
		{migrate.AllOf(a, star), "path [/a*]", `path == "/*"`},
		{migrate.AllOf(a, migrate.Negate(star), migrate.Negate(migrate.AnyOf(host, post))), "path [/a*] not host [*.example.org] method [POST] path [/%2A]", ""},
		{migrate.AnyOf(a, post), "", `(path startsWith "/a" or method == "POST")`},
		{migrate.Negate(migrate.AllOf(a, agent)), "", `not (path startsWith "/a" and agent contains "\"")`},
		{migrate.Negate(migrate.Negate(agent)), "", `agent contains "\""`},
	} {
		match, when, err := c.n.Write()
		if got := write(match); err != nil || got != c.match || when != c.when {
			t.Errorf("%s, when %s, %v; want %s, when %s", got, when, err, c.match, c.when)
		}
	}
	if _, _, err := migrate.Negate(migrate.Always()).Write(); err == nil {
		t.Error("nothing that matches is written")
	}
	parts := make([]*migrate.Condition, 500)
	for i := range parts {
		parts[i] = agent
	}
	if _, _, err := migrate.AllOf(parts...).Write(); err == nil {
		t.Error("500 comparisons are written")
	}
}

func write(m rules.Match) (text string) {
	add := func(name string, values []string) {
		if values != nil {
			text += fmt.Sprintf(" %s %v", name, values)
		}
	}
	add("host", m.Host)
	add("method", m.Method)
	add("path", m.Path)
	add("status", m.Status)
	if m.Not != nil {
		text += " not " + write(*m.Not)
	}
	return text[min(1, len(text)):]
}

// Patterns are what the words of a match or an expression can say.
func TestTextLike(t *testing.T) {
	for _, c := range []struct {
		field migrate.ConditionField
		stars []string
		fold  bool
		want  string
	}{
		{migrate.Path, []string{"", ""}, true, ""},
		{migrate.Path, []string{"/a", ""}, false, "path [/a*]"},
		{migrate.Path, []string{"/a", "b", ".c"}, false, "path [/a*b*.c]"},
		{migrate.Path, []string{"", "*", ""}, false, "path [*%2A*]"},
		{migrate.Host, []string{"", ".Example.org"}, true, "host [*.example.org]"},
		{migrate.Path, []string{"/a", "b"}, true, "refused"},
		{migrate.Agent, []string{"a", "b"}, false, "refused"},
		{migrate.Path, []string{"a", "b"}, false, "refused"},
	} {
		got := "refused"
		if n, err := migrate.TextLike(c.field, c.stars, c.fold); err == nil {
			match, when, err := n.Write()
			if err != nil {
				t.Error(err)
			}
			got = write(match) + when
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.stars, got, c.want)
		}
	}
}

func TestStatusIs(t *testing.T) {
	for _, c := range []struct {
		low, high int
		want      string
	}{{404, 404, "status [404]"}, {0, 299, "status [100-299]"}, {500, 5000, "status [500-999]"}} {
		n, err := migrate.StatusIs(c.low, c.high)
		if err != nil {
			t.Fatal(err)
		}
		if match, _, _ := n.Write(); write(match) != c.want {
			t.Errorf("%s, want %s", write(match), c.want)
		}
	}
	if _, err := migrate.StatusIs(500, 400); err == nil {
		t.Error("no status is one")
	}
}
