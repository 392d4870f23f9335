package report

import (
	"fmt"
	"io"
	"os"
	"strings"

	"edgeguard/loadtest/traffic"
)

// The log that is replayed, and the part of it that goaccess reads: it needs
// half a minute for two million lines, and is not faster on more.
const (
	logLines      = 2_000_000
	goaccessLines = 200_000
)

// twoRules is the config of the replay: one rule of every line, one of few.
const twoRules = `rules:
  - name: site
    threshold: 2000
    window: 5m
  - name: login
    match: {method: POST, path: [/wp-login.php, /xmlrpc.php]}
    threshold: 20
`

const replayLog = "edgeguard replay --config two-rules.yaml --json access.log"

func logGroup() group {
	return group{
		name:  "log",
		title: "Replay of an access log",
		note: fmt.Sprintf("A combined log of %d lines (`go run ./loadtest/gen log`) of up to 100,000 addresses, in the page cache; two rules. mawk only counts the first word; goaccess fills all its panels, "+
			"and reads the first %d lines.", logLines, goaccessLines),
		lines: []figure{
			figure{what: "against `mawk '{c[$1]++}'`", goal: atLeast(2, "×"), command: replayLog, measure: raceMawk}.in(fastQuestion),
			figure{what: "against goaccess", goal: atLeast(40, "×"), command: replayLog, measure: raceGoaccess}.in(fastQuestion),
		},
	}
}

func writeLog(w io.Writer) error { return traffic.Log{Lines: logLines, Seed: 1}.Write(w) }

func writeShortLog(w io.Writer) error { return traffic.Log{Lines: goaccessLines, Seed: 1}.Write(w) }

// replayer is edgeguard on the long log.
func (r *runner) replayer() (contender, error) {
	program, err := r.program()
	if err != nil {
		return contender{}, err
	}
	config, err := r.file("two-rules.yaml", func(w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(twoRules))
		return err
	})
	if err != nil {
		return contender{}, err
	}
	log, err := r.file("access.log", writeLog)
	return contender{[]string{program, "replay", "--config", config, "--json", log}, logLines, sawAll(logLines)}, err
}

func raceMawk(r *runner) (reading, error) {
	if err := installed("mawk"); err != nil {
		return reading{}, err
	}
	ours, err := r.replayer()
	if err != nil {
		return reading{}, err
	}
	log, err := r.file("access.log", writeLog)
	if err != nil {
		return reading{}, err
	}
	outcome, err := r.race("replay against mawk", ours, contender{args: []string{"mawk", "{c[$1]++}", log}, units: logLines})
	if err != nil {
		return reading{}, err
	}
	return outcome.speed("lines"), nil
}

func raceGoaccess(r *runner) (reading, error) {
	if err := installed("goaccess"); err != nil {
		return reading{}, err
	}
	ours, err := r.replayer()
	if err != nil {
		return reading{}, err
	}
	log, err := r.file("short.log", writeShortLog)
	if err != nil {
		return reading{}, err
	}
	page := log + ".json"
	defer os.Remove(page)
	outcome, err := r.race("replay against goaccess", ours, contender{
		args:  []string{"goaccess", log, "--no-global-config", "--log-format=COMBINED", "--output=" + page},
		units: goaccessLines,
	})
	if err != nil {
		return reading{}, err
	}
	return outcome.speed("lines"), nil
}
