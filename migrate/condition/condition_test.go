package condition_test

import (
	"fmt"
	"testing"

	"edgeguard/migrate/condition"
	"edgeguard/rules"
)

func text(t *testing.T, field condition.Field, op condition.Op, value string, fold bool) *condition.Node {
	t.Helper()
	n, err := condition.Text(field, op, value, fold)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What match can say stands there, and the rest in when. That both together mean the
// condition is tested where other programs' languages are read.
func TestWrite(t *testing.T) {
	a := text(t, condition.Path, condition.Begins, "/a", false)
	star := text(t, condition.Path, condition.Equals, "/*", false)
	post := text(t, condition.Method, condition.Equals, "post", true)
	agent := text(t, condition.Agent, condition.Contains, `"`, false)
	host := text(t, condition.Host, condition.Ends, ".Example.org", true)
	for _, c := range []struct {
		n           *condition.Node
		match, when string
	}{
		{condition.Always(), "", ""},
		{condition.And(a, post), "method [POST] path [/a*]", ""},
		{condition.Or(a, star), "path [/a* /%2A]", ""},
		{condition.Or(a, condition.Always()), "", ""},
		{condition.And(a, star), "path [/a*]", `path == "/*"`},
		{condition.And(a, condition.Not(star), condition.Not(condition.Or(host, post))), "path [/a*] not host [*.example.org] method [POST] path [/%2A]", ""},
		{condition.Or(a, post), "", `(path startsWith "/a" or method == "POST")`},
		{condition.Not(condition.And(a, agent)), "", `not (path startsWith "/a" and agent contains "\"")`},
		{condition.Not(condition.Not(agent)), "", `agent contains "\""`},
	} {
		match, when, err := c.n.Write()
		if got := write(match); err != nil || got != c.match || when != c.when {
			t.Errorf("%s, when %s, %v; want %s, when %s", got, when, err, c.match, c.when)
		}
	}
	if _, _, err := condition.Not(condition.Always()).Write(); err == nil {
		t.Error("nothing that matches is written")
	}
	parts := make([]*condition.Node, 500)
	for i := range parts {
		parts[i] = agent
	}
	if _, _, err := condition.And(parts...).Write(); err == nil {
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
func TestStars(t *testing.T) {
	for _, c := range []struct {
		field condition.Field
		stars []string
		fold  bool
		want  string
	}{
		{condition.Path, []string{"", ""}, true, ""},
		{condition.Path, []string{"/a", ""}, false, "path [/a*]"},
		{condition.Path, []string{"/a", "b", ".c"}, false, "path [/a*b*.c]"},
		{condition.Path, []string{"", "*", ""}, false, "path [*%2A*]"},
		{condition.Host, []string{"", ".Example.org"}, true, "host [*.example.org]"},
		{condition.Path, []string{"/a", "b"}, true, "refused"},
		{condition.Agent, []string{"a", "b"}, false, "refused"},
		{condition.Path, []string{"a", "b"}, false, "refused"},
	} {
		got := "refused"
		if n, err := condition.Stars(c.field, c.stars, c.fold); err == nil {
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

func TestCode(t *testing.T) {
	for _, c := range []struct {
		low, high int
		want      string
	}{{404, 404, "status [404]"}, {0, 299, "status [100-299]"}, {500, 5000, "status [500-999]"}} {
		n, err := condition.Code(c.low, c.high)
		if err != nil {
			t.Fatal(err)
		}
		if match, _, _ := n.Write(); write(match) != c.want {
			t.Errorf("%s, want %s", write(match), c.want)
		}
	}
	if _, err := condition.Code(500, 400); err == nil {
		t.Error("no status is one")
	}
}
