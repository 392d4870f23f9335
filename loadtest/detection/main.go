// Command detection judges rules by labelled logs and by scenes of people, programs,
// failing sites and attackers: whom they find, how soon, and whom they block who may
// not be:
//
//	go run ./loadtest/detection                    the rules of the packages' config
//	go run ./loadtest/detection -presets web,mail  others
//	go run ./loadtest/detection -rules my.yaml     the rules of a config
//	go run ./loadtest/detection -all               also each rule, and each scene
//	go run ./loadtest/detection -list unknown      and who was blocked without a label
//	go run ./loadtest/detection -formats           which test logs of peers can be read
//	go run ./loadtest/detection -tune              what tune proposes and what the front page tells, beside the rules as they are
//	go run ./loadtest/detection -guard             what it costs and gains to have a site look as if it failed, and whom outages block
//	go run ./loadtest/detection -crowds            what rules tell that count everybody together, by limits that are learned
//	go run ./loadtest/detection -customers         of whom a node says that he may be a customer
//
// The labelled logs are in a folder: labels-web.tsv says who is who (folder,
// address, label and requests, with tabs between), and each folder that it names
// has its access.log, compressed or not. Where there is none, only the scenes are
// judged.
//
// The evidence is split in two by a hash of each scene's name, and of each address
// with its log: limits may be chosen on the one half, and the other is only reported.
//
// It prints tables in Markdown, for people and for docs/detection.md.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"edgeguard/loadtest/scenes"
	"edgeguard/loadtest/tuned"
	"edgeguard/packaging"
)

//go:embed baselines
var baselines embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "detection:", err)
		os.Exit(1)
	}
}

// lists are what -list can show.
var lists = []string{"missed", "unknown", "benign"}

// run judges what args ask for and prints it to out. Notes are for what cannot be
// judged.
func run(ctx context.Context, args []string, out, notes io.Writer) (err error) {
	flags := flag.NewFlagSet("detection", flag.ContinueOnError)
	flags.SetOutput(notes)
	data := flags.String("data", dataFolder(), "the `folder` of the labelled logs")
	names := flags.String("presets", packaged, "the presets that are judged, with commas between; packaged are those of the packages' config")
	own := flags.String("rules", "", "the `file` of a config whose rules are judged, instead of presets")
	seeds := flags.Int("seeds", 3, "how many logs are generated of each scene in which nobody attacks")
	formats := flags.Bool("formats", false, "judge which test logs of CrowdSec and fail2ban can be read, and no rules")
	tune := flags.Bool("tune", false, "judge what tune proposes for the labelled logs, and no rules")
	guard := flags.Bool("guard", false, "judge the outage guard: its price, and whom outages block by what a client is spared in a day")
	customers := flags.Bool("customers", false, "judge of whom a node says that he may be a customer, and no rules")
	crowds := flags.Bool("crowds", false, "judge what rules tell whose limits each node learns, and nothing else")
	every := flags.Bool("all", false, "also each rule, and the scenes in which nobody is stopped")
	list := flags.String("list", "", "addresses of the half that rules are tuned on: missed attackers, unknown ones that were blocked, or benign ones that were")
	page := flags.String("write", "", "also put the tables in the place of those with the same header in this `file`, such as docs/detection.md")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *page != "" {
		var printed bytes.Buffer
		out = io.MultiWriter(out, &printed)
		defer func() { err = writtenTo(*page, &printed, err) }()
	}
	if *list != "" && !slices.Contains(lists, *list) {
		return fmt.Errorf("-list %s: write one of %v", *list, lists)
	}
	if *formats {
		return printFormats(out, *data)
	}
	if *crowds {
		return printCrowds(ctx, out, *data, *seeds)
	}
	sets, err := rulesets(*names, *own)
	if err != nil {
		return err
	}
	if *guard {
		return printGuard(ctx, out, sets[0], *seeds)
	}
	l, err := openLabels(*data)
	if errors.Is(err, errNoData) {
		fmt.Fprintln(notes, "detection: only the scenes are judged:", err)
	} else if err != nil {
		return err
	}
	if *customers {
		return printCustomers(ctx, out, sets[0], *data, l, *seeds)
	}
	if *tune {
		return printTune(ctx, out, *data, l)
	}
	return printJudged(ctx, out, sets, *data, l, *seeds, *every, *list)
}

// printJudged judges logs and scenes, and prints it.
func printJudged(ctx context.Context, out io.Writer, sets []ruleset, data string, l tuned.Labels, seeds int, every bool, list string) error {
	all, err := judgeAll(ctx, sets, data, l, seeds)
	if err != nil {
		return err
	}
	first := &all[0]
	printGoals(out, first)
	printSummary(out, all)
	printLogs(out, first, l.Folders)
	if every {
		printRules(out, first)
	}
	if seeds > 0 {
		printScenes(out, first, seeds, every)
		printAttacks(out, first)
	}
	if list != "" {
		printRows(out, first, list)
	}
	return nil
}

// dataFolder is where the labelled logs are, if nothing else is said.
func dataFolder() string {
	if folder := os.Getenv("EDGEGUARD_DATA"); folder != "" {
		return folder
	}
	return "../shared/data"
}

// packaged stands for the rules of the config that packages install.
const packaged = "packaged"

// compared are the sets beside the one that is judged: what packages install, a node
// without a config, and a stricter set that people write by hand.
var compared = []string{packaged, "none", "examples"}

// rulesets returns what is judged, and what it is compared with.
func rulesets(names, own string) ([]ruleset, error) {
	var sets []ruleset
	if own != "" {
		text, err := os.ReadFile(own)
		if err != nil {
			return nil, err
		}
		r, err := parse(own, text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, r)
	} else {
		compared := slices.DeleteFunc(slices.Clone(compared), func(name string) bool { return name == names })
		return named(append([]string{names}, compared...))
	}
	others, err := named(compared)
	return append(sets, others...), err
}

// named returns sets of rules by their names: packaged, a baseline's, or presets with
// commas between.
func named(names []string) (sets []ruleset, err error) {
	for _, name := range names {
		text := []byte(packaging.Config)
		switch name {
		case packaged:
		case "none", "examples":
			if text, err = baselines.ReadFile("baselines/" + name + ".yaml"); err != nil {
				return nil, err
			}
		default:
			text = []byte("presets: [" + name + "]\n")
		}
		r, err := parse(name, text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, r)
	}
	return sets, nil
}

// judgeAll judges each set of rules by the labelled logs and by the scenes.
func judgeAll(ctx context.Context, sets []ruleset, data string, l tuned.Labels, seeds int) ([]judged, error) {
	var all []judged
	for _, r := range sets {
		byLog, sum, err := judgeLogs(ctx, r, data, l)
		if err != nil {
			return nil, err
		}
		all = append(all, judged{ruleset: r, byLog: byLog, all: sum})
	}
	return all, judgeScenes(ctx, all, scenes.Scenes(), seeds)
}
