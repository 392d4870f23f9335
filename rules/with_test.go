package rules_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func TestWith(t *testing.T) {
	long := "/" + strings.Repeat("x", 200)
	for _, c := range []struct {
		name string
		with []string
		edit func(*edgeguard.Event)
		want string // empty: the event has no such key
	}{
		{"host and path", []string{"path", "host"}, nil, "host=example.org path=/x"},
		{"method and node", []string{"node", "method"}, nil, "method=GET node=edge-1"},
		{"one key for a name with its last dot", []string{"host"}, func(ev *edgeguard.Event) { ev.Host = "example.org.:80" }, "host=example.org"},
		{"one key for a method in any case", []string{"method"}, func(ev *edgeguard.Event) { ev.Method = "gEt" }, "method=GET"},
		{"unknown host", []string{"host"}, func(ev *edgeguard.Event) { ev.Known &^= edgeguard.FieldHost }, ""},
		{"unknown node", []string{"host", "node"}, func(ev *edgeguard.Event) { ev.Known &^= edgeguard.FieldNode }, ""},
		{"empty host is a value", []string{"host"}, func(ev *edgeguard.Event) { ev.Host = "" }, "host="},
		{"header is hardly shown", []string{"header:X-Api-Key"}, nil, "header:x-api-key=0123…" + digest("0123456789abcdef")},
		{"short header is hardly shown", []string{"header:pin"}, nil, "header:pin=1…" + digest("1234")},
		{"no such header", []string{"header:X-Other"}, nil, ""},
		{"no headers", []string{"header:X-Api-Key"}, func(ev *edgeguard.Event) { ev.Header = nil }, ""},
		{"headers unknown", []string{"header:X-Api-Key"}, func(ev *edgeguard.Event) { ev.Known &^= edgeguard.FieldHeader }, ""},
		{"no forged attribute", []string{"host", "path"}, func(ev *edgeguard.Event) { ev.Host = "a path=/b" }, "host=a%20path=/b path=/x"},
		{"no control characters", []string{"path"}, func(ev *edgeguard.Event) { ev.Path = "/%1b[2J\n\xc2\x9b" }, "path=/%1B[2J%0A%C2%9B"},
		{"no escape passes for another", []string{"path"}, func(ev *edgeguard.Event) { ev.Path = "/%2520" }, "path=/%2520"},
		{"space", []string{"path"}, func(ev *edgeguard.Event) { ev.Path = "/%20" }, "path=/%20"},
		{"agent", []string{"agent"}, func(ev *edgeguard.Event) { ev.Known |= edgeguard.FieldAgent; ev.Agent = "curl/8.5.0 x" }, "agent=cur…" + digest("curl/8.5.0 x")},
		{"agent unknown", []string{"agent"}, nil, ""},
		{"query", []string{"query"}, func(ev *edgeguard.Event) { ev.Path = "/x?a=1&b=23" }, "query=a=…" + digest("a=1&b=23")},
		{"no query is a value", []string{"query"}, func(ev *edgeguard.Event) { ev.Path = "/x" }, "query=…" + digest("")},
		{"parameter", []string{"query:b"}, func(ev *edgeguard.Event) { ev.Path = "/x?a=1;%62=%32+3&b=9#" }, "query:b=…" + digest("2 3")},
		{"parameter without a value", []string{"query:b"}, func(ev *edgeguard.Event) { ev.Path = "/x?b" }, "query:b=…" + digest("")},
		{"no such parameter", []string{"query:b"}, func(ev *edgeguard.Event) { ev.Path = "/x?ab=1&=b" }, ""},
		{"parameter behind too many", []string{"query:b"}, func(ev *edgeguard.Event) { ev.Path = "/x?" + strings.Repeat("a&", 100) + "b=1" }, "query:b=…" + digest("&")},
		{"parameter that is the last looked at", []string{"query:b"}, func(ev *edgeguard.Event) { ev.Path = "/x?" + strings.Repeat("a&", 99) + "b=1" }, "query:b=…" + digest("1")},
		{"many parameters without it", []string{"query:b"}, func(ev *edgeguard.Event) { ev.Path = "/x?" + strings.Repeat("a&", 99) + "a" }, ""},
		{"cookie", []string{"cookie:sid"}, nil, "cookie:sid=ab…" + digest("abcdefgh")},
		{"cookies are told apart by case", []string{"cookie:SID"}, nil, "cookie:SID=…" + digest("x=y")},
		{"no such cookie", []string{"cookie:si"}, nil, ""},
		{"long path", []string{"path"}, func(ev *edgeguard.Event) { ev.Path = long }, "path=" + long[:64] + "…" + digest(long)},
	} {
		t.Run(c.name, func(t *testing.T) {
			meter := &compile(t, rules.Spec{
				Name: "a", Threshold: 1, Action: edgeguard.ActionDeny, Key: rules.Group{With: c.with},
			}).Meters[0]
			ev := request("Example.org:80", "GET", "//x?q")
			ev.Node = "edge-1"
			ev.Known |= edgeguard.FieldNode | edgeguard.FieldHeader
			ev.Header = func(name string) (string, bool) {
				value, ok := map[string]string{"x-api-key": "0123456789abcdef", "pin": "1234", "cookie": "a=sid=1; sid=abcdefgh ;SID=x=y; sid=2"}[name]
				return value, ok
			}
			if c.edit != nil {
				c.edit(&ev)
			}
			got, ok := meter.AppendAttributes(&ev, []byte("before "))
			if string(got) != "before "+c.want || ok != (c.want != "") {
				t.Errorf("With is %q, %v, want %q", got, ok, c.want)
			}
		})
	}
}

func TestWithNothing(t *testing.T) {
	meter := &compile(t, rules.Spec{Name: "a", Threshold: 1}).Meters[0]
	if got, ok := meter.AppendAttributes(&edgeguard.Event{}, nil); len(got) != 0 || !ok {
		t.Errorf("With is %q, %v: a key of the address alone has no text", got, ok)
	}
}

func TestFields(t *testing.T) {
	meter := &compile(t, rules.Spec{
		Name: "a", Threshold: 1, Action: edgeguard.ActionDeny,
		Match: rules.Match{Path: []string{"/x"}, Not: &rules.Match{Status: []string{"200"}}},
		Key:   rules.Group{With: []string{"header:a", "host"}},
		Costs: []rules.Charge{{Match: rules.Match{Method: []string{"GET"}}, Cost: 2}},
	}).Meters[0]
	want := edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldHeader | edgeguard.FieldHost
	if got := meter.Fields(); got != want {
		t.Errorf("Fields is %v, want %v", got, want)
	}
}
