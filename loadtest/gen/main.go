// Command gen writes the traffic that the figures are measured on to its
// standard output:
//
//	go run ./loadtest/gen log -lines 2000000 -addresses 100000 -seed 1 > access.log
//	go run ./loadtest/gen pcap -packets 2000000 -seed 1 > flood.pcap
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"edgeguard/loadtest/traffic"
)

const usage = "usage: gen log|pcap [flags]; gen log -h lists the flags of log"

var errUsage = errors.New(usage)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run writes what args ask for to out. Wrong arguments give an error that is
// errUsage.
func run(args []string, out, notes io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet("gen "+args[0], flag.ContinueOnError)
	flags.SetOutput(notes)
	seed := flags.Uint64("seed", 1, "another seed gives other traffic")
	var write func(io.Writer) error
	switch args[0] {
	case "log":
		lines := flags.Int("lines", 2_000_000, "how many lines")
		addresses := flags.Int("addresses", 100_000, "how many addresses to draw from")
		rate := flags.Int("rate", 2000, "lines a second")
		write = func(w io.Writer) error {
			return traffic.Log{Lines: *lines, Addresses: *addresses, Rate: *rate, Seed: *seed}.Write(w)
		}
	case "pcap":
		packets := flags.Int("packets", 2_000_000, "how many packets")
		sources := flags.Int("sources", 100_000, "how many sources to draw from")
		rate := flags.Int("rate", 20_000, "packets a second")
		write = func(w io.Writer) error {
			return traffic.Capture{Packets: *packets, Sources: *sources, Rate: *rate, Seed: *seed}.Write(w)
		}
	default:
		return fmt.Errorf("%q is none of log, pcap; %w", args[0], errUsage)
	}
	if err := parse(flags, args[1:]); err != nil {
		return err
	}
	return write(out)
}

// parse reads the flags, and refuses what is left over and what is negative.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag; %w", flags.Arg(0), errUsage)
	}
	var negative error
	flags.VisitAll(func(f *flag.Flag) {
		if n, ok := f.Value.(flag.Getter).Get().(int); ok && n < 1 {
			negative = fmt.Errorf("-%s is %d, it must be at least 1; %w", f.Name, n, errUsage)
		}
	})
	return negative
}
