package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestIsUsage(t *testing.T) {
	wrong := errors.New("wrong")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{wrong, false},
		{Usage(wrong), true},
		{fmt.Errorf("serve: %w", Usage(wrong)), true},
		{Ended{Code: 2, Err: Usage(wrong)}, true},
		{Ended{Code: 2}, false},
		{errors.New(`unknown command "x" for "edgeguard"`), true},
		{NoArguments(&cobra.Command{Use: "x"}, []string{"y"}), true},
		{OneArgument("an address")(&cobra.Command{Use: "x"}, nil), true},
		{AtMostOneArgument("x: name one")(&cobra.Command{Use: "x"}, []string{"a", "b"}), true},
		{NoOther("list or add")(&cobra.Command{Use: "x"}, []string{"y"}), true},
	} {
		if got := IsUsage(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if !errors.Is(Ended{Err: wrong}, wrong) {
		t.Error("the reason of an end is lost")
	}
}

func TestArguments(t *testing.T) {
	c := &cobra.Command{Use: "x"}
	if err := errors.Join(NoArguments(c, nil), OneArgument("an address")(c, []string{"192.0.2.1"}), AtMostOneArgument("one")(c, []string{"a"}), NoOther("list")(c, nil)); err != nil {
		t.Error(err)
	}
	if err := NoOther("list or add")(c, []string{"y"}); err.Error() != `x: unknown subcommand "y": use list or add` {
		t.Error(err)
	}
}

// An answer is JSON with --json and text without; of an error nothing is printed.
func TestShow(t *testing.T) {
	failed := errors.New("no answer")
	text := func(e *Env, n *int) { fmt.Fprintf(e.Stdout, "it is %d\n", *n) }
	texts := func(e *Env, all []int) { fmt.Fprintf(e.Stdout, "there are %d\n", len(all)) }
	for _, c := range []struct {
		json             bool
		err              error
		wantOne, wantAll string
	}{
		{false, nil, "it is 7\n", "there are 2\n"},
		{true, nil, "7\n", "8\n9\n"},
		{false, failed, "", ""},
		{true, failed, "", ""},
	} {
		var one, all strings.Builder
		if err := Show(&Env{Stdout: &one, JSON: c.json}, 7, c.err, text); err != c.err || one.String() != c.wantOne {
			t.Errorf("%+v: Show prints %q, %v", c, one.String(), err)
		}
		if err := ShowAll(&Env{Stdout: &all, JSON: c.json}, []int{8, 9}, c.err, texts); err != c.err || all.String() != c.wantAll {
			t.Errorf("%+v: ShowAll prints %q, %v", c, all.String(), err)
		}
	}
}
