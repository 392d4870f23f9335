package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/node/neighbours"
)

// notifyCommand returns `edgeguard notify`, for receivers of notifications.
func notifyCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "notify",
		Short:   "Try the receivers of notifications",
		Example: "  edgeguard notify test",
		Args:    command.NoArguments,
	}
	c.AddCommand(notifyTestCommand(e))
	return c
}

func notifyTestCommand(e *command.Env) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "test [NAME] [--config FILE]",
		Short: "Send a test message to the config's receivers and print their answers",
		Long: `test sends a message to each webhook and each Alertmanager of the config's notify, or
to the one named, and prints what they answered. It needs no running node: it reads
the config and the files of secrets itself, so run it as root. An Alertmanager gets
the alert EdgeguardTest, which ends after a minute.`,
		Example: "  edgeguard notify test\n  edgeguard notify test team",
		Args:    command.AtMostOneArgument("notify test: name one receiver, or none for all"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := command.LoadConfig(file)
			if err != nil {
				return err
			}
			return tryReceivers(e, c, cfg, strings.Join(args, ""))
		},
	}
	c.Flags().StringVar(&file, "config", "", "config `FILE` with the receivers (default: the packaged one's)")
	return c
}

// tryReceivers tries the receivers of a config: all, or the one of a name.
func tryReceivers(e *command.Env, c *cobra.Command, cfg *config.Config, name string) error {
	trials := neighbours.NotifyTrials{Node: cfg.Node, Version: buildVersion(), Run: "test" + rand.Text()[:8]}
	tried, failed := 0, 0
	each := func(receiver string, try func(now time.Time) neighbours.NotifyTrial) {
		if name != "" && name != receiver {
			return
		}
		begun := time.Now()
		t := try(begun)
		printTrial(e, &t, time.Since(begun))
		tried++
		if t.Error != nil {
			failed++
		}
	}
	for i := range cfg.Notify.Webhooks {
		w := &cfg.Notify.Webhooks[i]
		each(w.Name, func(now time.Time) neighbours.NotifyTrial { return trials.Webhook(c.Context(), now, w) })
	}
	for i := range cfg.Notify.Alertmanager {
		a := &cfg.Notify.Alertmanager[i]
		each(a.Name, func(now time.Time) neighbours.NotifyTrial { return trials.Alertmanager(c.Context(), now, a) })
	}
	switch {
	case tried == 0 && name != "":
		return fmt.Errorf("the config's notify has no receiver %q", safetext.Strip(name))
	case tried == 0:
		return errors.New("the config has no receivers: add notify, as docs/configuration.md has it")
	case failed > 0:
		return fmt.Errorf("%s of %d did not accept the test", words.Plural(failed, "receiver", "receivers"), tried)
	}
	return nil
}

// printTrial prints what came of one.
func printTrial(e *command.Env, t *neighbours.NotifyTrial, took time.Duration) {
	text := safetext.Strip(t.Name)
	if t.Host != "" {
		text += " (" + safetext.Strip(t.Host) + ")"
	}
	if t.Error != nil {
		fmt.Fprintf(e.Stdout, "%s: not accepted: %s\n", text, safetext.Strip(t.Error.Error()))
		return
	}
	fmt.Fprintf(e.Stdout, "%s: accepted, %d after %v", text, t.Status, took.Round(time.Millisecond))
	if t.Answer != "" {
		fmt.Fprintf(e.Stdout, ": %s", safetext.Strip(t.Answer))
	}
	fmt.Fprintln(e.Stdout)
}
