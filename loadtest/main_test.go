package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestWrongCommandLines(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "say what to do"},
		{"song", `no command "song": use algorithms, fleet, report`},
		{"report -song", "flag provided but not defined: -song"},
		{"report song", `takes flags and no other argument, and got "song"`},
		{"report -seed x", `invalid value "x" for flag -seed`},
		{"report -only song", `no part or group "song"`},
		{"report -only=", "-only is empty"},
		{"fleet -only add", "flag provided but not defined: -only"},
		{"fleet", "this is not edgeguard's folder"},
	} {
		var out, notes bytes.Buffer
		exit := start(t.Context(), strings.Fields(tt.args), &out, &notes)
		if text := notes.String(); exit != wrong || !strings.Contains(text, tt.want) || strings.Count(text, "\n") != 1 || out.Len() > 0 {
			t.Errorf("%q: exit %d, %q; want one line with %q and exit %d", tt.args, exit, text, tt.want, wrong)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"help", "-h", "--help", "report -h", "report --help"} {
		var out, notes bytes.Buffer
		if exit := start(t.Context(), strings.Fields(args), &out, &notes); exit != 0 || notes.Len() > 0 || !strings.Contains(out.String(), "go run ./loadtest") {
			t.Errorf("%s: exit %d, %q, notes %q", args, exit, out.String(), notes.String())
		}
	}
	for _, c := range commands {
		var out bytes.Buffer
		start(t.Context(), []string{c.name, "-h"}, &out, &out)
		if !strings.Contains(out.String(), c.does) || !strings.Contains(out.String(), "-seed") {
			t.Errorf("%s -h: %s", c.name, out.String())
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range commands {
		var out, notes bytes.Buffer
		if exit := start(ctx, []string{c.name}, &out, &notes); exit != interrupted || !strings.HasSuffix(notes.String(), "loadtest: interrupted\n") {
			t.Errorf("%s: exit %d, %q", c.name, exit, notes.String())
		}
	}
}
