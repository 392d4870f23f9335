package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin/client"
	"edgeguard/config"
	"edgeguard/logline"
	"edgeguard/rules"
)

// What is offered begins as what was typed, is not on the line yet, and means nothing to
// a shell. A list without end is cut.
func TestCompleteOffer(t *testing.T) {
	names := []string{"login", "log in", "login$(id)", "login;id", "login`id`", "login\nid", "-login", "login'", "login\x1b[2J", "joomla/login", "2001:db8::/64", "lögin", "", "login"}
	v := fixed(names)
	for _, c := range []struct {
		args  []string
		typed string
		want  string
	}{
		{nil, "", "login joomla/login 2001:db8::/64"},
		{nil, "log", "login"},
		{nil, "-", ""},
		{[]string{"login"}, "", "joomla/login 2001:db8::/64"},
	} {
		found, directive := offer(v)(&cobra.Command{}, c.args, c.typed)
		if strings.Join(found, " ") != c.want || directive != cobra.ShellCompDirectiveNoFileComp {
			t.Errorf("%q after %q: %q, want %q", c.typed, c.args, found, c.want)
		}
	}
	endless := func(_ context.Context, _ *cobra.Command, yield func(string) bool) {
		for i := 0; yield(fmt.Sprint("r", i)); i++ {
		}
	}
	if found, _ := offer(endless)(&cobra.Command{}, nil, ""); len(found) != completeMost {
		t.Errorf("of an endless list: %d", len(found))
	}
}

// A node is asked with a deadline, and one that does not answer is no error.
func TestCompleteSilent(t *testing.T) {
	var asked []string
	e := &completion{
		ask: func(ctx context.Context, c *cobra.Command, _ func(context.Context, *client.Client) error) error {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > completeTime {
				t.Error("no deadline")
			}
			asked = append(asked, c.Name())
			return context.DeadlineExceeded
		},
		load: func(name string) (*config.Config, error) {
			if name != "" {
				return nil, fmt.Errorf("%s: no such file", name)
			}
			return &config.Config{Specs: []rules.Spec{{Name: "site"}}}, nil
		},
	}
	for _, v := range []values{e.rules, e.blocks, e.held, e.allowances} {
		if found, _ := offer(v)(&cobra.Command{Use: "x"}, nil, ""); found != nil {
			t.Errorf("found %q", found)
		}
	}
	if len(asked) != 4 {
		t.Errorf("asked %d times", len(asked))
	}
	c := &cobra.Command{}
	c.Flags().String("config", "", "")
	if found, _ := offer(e.configRules)(c, nil, ""); !slices.Equal(found, []string{"site"}) {
		t.Errorf("of the config: %q", found)
	}
	_ = c.Flags().Set("config", "missing.yaml")
	if found, _ := offer(e.configRules)(c, nil, ""); found != nil {
		t.Errorf("of a missing config: %q", found)
	}
}

// Every format that is offered can be read.
func TestCompleteFormats(t *testing.T) {
	for _, name := range formats() {
		if name == "pcap" {
			continue // not of logs
		}
		if _, err := logline.ParseFormat(name); err != nil {
			t.Error(err)
		}
	}
}
