// Command detection judges rules by labelled logs and by generated benign traffic:
// whom they find, how soon, and whom they block who may not be:
//
//	go run ./loadtest/detection                    the presets that ship
//	go run ./loadtest/detection -rules my.yaml     the rules of a config
//	go run ./loadtest/detection -list unknown      and who was blocked without a label
//	go run ./loadtest/detection -formats           which test logs of peers can be read
//	go run ./loadtest/detection -tune              what tune proposes, beside the rules as they are
//
// The labelled logs are in a folder: labels-web.tsv says who is who (folder,
// address, label and requests, with tabs between), and each folder that it names
// has its access.log, compressed or not. Where there is none, only the generated
// traffic is judged.
//
// It prints tables in Markdown, for people and for docs/detection.md.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
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
func run(ctx context.Context, args []string, out, notes io.Writer) error {
	flags := flag.NewFlagSet("detection", flag.ContinueOnError)
	flags.SetOutput(notes)
	data := flags.String("data", dataFolder(), "the `folder` of the labelled logs")
	names := flags.String("presets", judgedPresets, "the presets that are judged, with commas between")
	own := flags.String("rules", "", "the `file` of a config whose rules are judged, instead of presets")
	seeds := flags.Int("seeds", 3, "how many logs are generated of each kind of benign traffic")
	formats := flags.Bool("formats", false, "judge which test logs of CrowdSec and fail2ban can be read, and no rules")
	tune := flags.Bool("tune", false, "judge what tune proposes for the labelled logs, and no rules")
	list := flags.String("list", "", "addresses to show: missed attackers, unknown ones that were blocked, or benign ones that were")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *list != "" && !slices.Contains(lists, *list) {
		return fmt.Errorf("-list %s: write one of %v", *list, lists)
	}
	if *formats {
		return printFormats(out, *data)
	}
	sets, err := rulesets(*names, *own)
	if err != nil {
		return err
	}
	l, err := openLabels(*data)
	if errors.Is(err, errNoData) {
		fmt.Fprintln(notes, "detection: only the generated traffic is judged:", err)
	} else if err != nil {
		return err
	}
	if *tune {
		return printTune(ctx, out, *data, l.folders)
	}
	var all []judged
	for _, r := range sets {
		j := judged{ruleset: r}
		if j.byLog, j.all, err = judgeLogs(ctx, r, *data, l); err != nil {
			return err
		}
		if j.scenes, err = judgeScenes(ctx, r, *seeds, &j.all); err != nil {
			return err
		}
		all = append(all, j)
	}
	printSummary(out, all)
	last := &all[len(all)-1]
	printLogs(out, last, l.folders)
	printRules(out, last)
	printScenes(out, last, *seeds)
	if *list != "" {
		printRows(out, last, *list)
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

// judgedPresets are for web sites. The preset xmlrpc is for sites without the app,
// and is judged only if it is asked for.
const judgedPresets = "web,wordpress,joomla"

// rulesets returns what is judged, the baselines first.
func rulesets(names, own string) ([]ruleset, error) {
	var sets []ruleset
	for _, name := range []string{"default", "examples"} {
		text, err := baselines.ReadFile("baselines/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		r, err := parse(name, text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, r)
	}
	name, text, err := names, []byte("presets: ["+names+"]\n"), error(nil)
	if own != "" {
		name = own
		text, err = os.ReadFile(own)
	}
	if err != nil {
		return nil, err
	}
	r, err := parse(name, text)
	return append(sets, r), err
}
