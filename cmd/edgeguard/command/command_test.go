package command

import (
	"errors"
	"fmt"
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
	if err := errors.Join(NoArguments(c, nil), OneArgument("an address")(c, []string{"192.0.2.1"})); err != nil {
		t.Error(err)
	}
}
