package console

import (
	"fmt"
	"testing"
	"time"
)

// A form that is sent twice changes once, one that failed may be sent again, and what is
// remembered is bounded in number and in time.
func TestOutcomes(t *testing.T) {
	now := noon
	o := outcomes{now: func() time.Time { return now }}
	id, calls := newID(), 0
	fails := func() *outcome { calls++; return nil }
	works := func() *outcome { calls++; return &outcome{Text: "done"} }
	if o.once(id, fails) != nil || o.once(id, works) == nil || calls != 2 {
		t.Fatalf("after a failure: %d calls", calls)
	}
	first := o.find(id, now)
	now = noon.Add(remembered - 1)
	if o.once(id, works) != first || calls != 2 {
		t.Errorf("the same form was made again: %d calls", calls)
	}
	now = noon
	if o.find(id, now.Add(remembered)) != nil || o.find("", now) != nil {
		t.Error("remembered for too long, or without an ID")
	}
	for i := range 3 * mostOutcomes {
		o.once(fmt.Sprint(i), works)
	}
	if len(o.all) != mostOutcomes || o.find("0", now) != nil || o.find(fmt.Sprint(3*mostOutcomes-1), now) == nil {
		t.Errorf("%d are remembered", len(o.all))
	}
}

func TestKnownID(t *testing.T) {
	own := newID()
	if knownID(own) != own {
		t.Error("an ID of a form is not known again")
	}
	for _, text := range []string{"", "undo-" + own, own + "A", own[1:], own[1:] + "a", own[1:] + "\"", "undo-ABCDEFGHIJKLMNOPQRSTU"} {
		if got := knownID(text); got == text || len(got) != len(own) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A form leads back to a page of the console and nowhere else.
func TestBackTo(t *testing.T) {
	for text, want := range map[string]string{
		"/blocked": "/blocked", "/blocked?rule=site&cursor=a%2Fb": "/blocked?rule=site&cursor=a%2Fb", "/address/203.0.113.7?rule=site": "/address/203.0.113.7?rule=site",
		"/network/203.0.113.0/24": "/network/203.0.113.0/24", "/held": "/held", "/near#top": "/near",
		"": "/blocked", "/": "/blocked", "blocked": "/blocked", "//evil.example/blocked": "/blocked", "https://evil.example/blocked": "/blocked", "/\\evil.example": "/blocked",
		"/blocked\\@evil.example": "/blocked", "///blocked": "/blocked", "javascript:alert(1)": "/blocked", "/logout": "/blocked", "/api/v1/status": "/blocked", "/unblock?prefix=x": "/blocked",
		"/%2fblocked": "/blocked", "/blocked\r\nSet-Cookie: a=b": "/blocked", "%zz": "/blocked", "?blocked": "/blocked",
	} {
		if got := backTo(text); got != want {
			t.Errorf("%q leads to %q, want %q", text, got, want)
		}
	}
}
