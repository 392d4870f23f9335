package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgeguard/loadtest/scenes"
	"edgeguard/logline"
	"edgeguard/sensor/accesslog"
)

// formatsTable says by which format a test log of a peer is read: peer/set and the
// format as an operator writes it, with a tab between. A set that is not named is
// read by the format that its first lines show.
//
//go:embed formats.tsv
var formatsTable string

// peerSet is one test log of another program, with the addresses that this program
// expects to find in it.
type peerSet struct {
	name    string
	log     []byte
	sources []netip.Addr
}

// readSets are how many of a half of a peer's sets can be read.
type readSets struct {
	peer           string
	reported       bool // the half that nobody looks at
	sets, readable int
	sources, found int
	unread         []string
}

// judgeFormats reads the test logs of both peers, and returns both halves of each. A set
// is readable if an address that the peer expects is the address of an event.
func judgeFormats(data string) ([]readSets, error) {
	formats := make(map[string]string)
	for line := range strings.Lines(formatsTable) {
		if set, format, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t"); ok {
			formats[set] = format
		}
	}
	var all []readSets
	for _, peer := range []struct {
		name string
		sets func(folder string) ([]peerSet, error)
	}{{"crowdsec-hub", crowdsecSets}, {"fail2ban", fail2banSets}} {
		sets, err := peer.sets(filepath.Join(data, "tests-"+peer.name))
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: %v: name a folder with -data", errNoData, err)
		}
		if err != nil {
			return nil, err
		}
		seen, unseen := readSets{peer: peer.name}, readSets{peer: peer.name, reported: true}
		for _, set := range sets {
			if len(set.sources) == 0 {
				continue // it names no address that could be found
			}
			name := peer.name + "/" + set.name
			half := &seen
			if scenes.Reported(name) {
				half = &unseen
			}
			if err := half.add(set, formats[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		all = append(all, seen, unseen)
	}
	return all, nil
}

// add reads one set by a format, or by what its lines show.
func (r *readSets) add(set peerSet, format string) error {
	addresses, err := addressesOf(set.log, format)
	if err != nil {
		return err
	}
	found := 0
	for _, source := range set.sources {
		if addresses[source] {
			found++
		}
	}
	r.sets++
	r.sources += len(set.sources)
	r.found += found
	if found > 0 {
		r.readable++
	} else {
		r.unread = append(r.unread, set.name)
	}
	return nil
}

// addressesOf returns the addresses of a log's events. A log whose format is not
// recognized has none.
func addressesOf(log []byte, format string) (map[netip.Addr]bool, error) {
	f, err := logline.ParseFormat(format)
	if err != nil {
		return nil, err
	}
	addresses := make(map[netip.Addr]bool)
	r, err := accesslog.Open("-", f, accesslog.Options{Stdin: bytes.NewReader(log)})
	if err != nil {
		return addresses, nil // not recognized
	}
	defer r.Close()
	for {
		events, err := r.Next()
		for i := range events {
			addresses[events[i].Addr] = true
		}
		if errors.Is(err, io.EOF) {
			return addresses, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// crowdsecSets returns the sets of CrowdSec's hub: expected.tsv has a line for each
// alert with the set, its log, and in the fifth column the sources.
func crowdsecSets(folder string) ([]peerSet, error) {
	table, err := os.ReadFile(filepath.Join(folder, "expected.tsv"))
	if err != nil {
		return nil, err
	}
	sets := make(map[string]*peerSet)
	for line := range strings.Lines(string(table)) {
		columns := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || len(columns) < 5 {
			continue
		}
		set := sets[columns[0]]
		if set == nil {
			log, err := os.ReadFile(filepath.Join(folder, columns[0], columns[1]))
			if err != nil {
				return nil, err
			}
			set = &peerSet{name: columns[0], log: log}
			sets[columns[0]] = set
		}
		for _, text := range strings.FieldsFunc(columns[4], func(r rune) bool { return r == ',' || r == ' ' }) {
			set.expect(text)
		}
	}
	return sorted(sets), nil
}

// fail2banSets returns the sets of fail2ban: a comment with a label before each line.
func fail2banSets(folder string) ([]peerSet, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	sets := make(map[string]*peerSet)
	for _, file := range files {
		if file.Name() == "SOURCE.txt" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return nil, err
		}
		set := &peerSet{name: file.Name()}
		for line := range bytes.Lines(text) {
			if !bytes.HasPrefix(line, []byte("#")) {
				set.log = append(set.log, line...)
				continue
			}
			if _, label, ok := bytes.Cut(line, []byte("failJSON:")); ok {
				set.label(label)
			}
		}
		sets[set.name] = set
	}
	return sorted(sets), nil
}

// label adds the host of a line that is a failure.
func (s *peerSet) label(text []byte) {
	var label struct {
		Match bool
		Host  string
	}
	if json.Unmarshal(text, &label) == nil && label.Match {
		s.expect(label.Host)
	}
}

// expect adds an address once. Names of hosts are left out.
func (s *peerSet) expect(text string) {
	if addr, err := netip.ParseAddr(text); err == nil && !slices.Contains(s.sources, addr) {
		s.sources = append(s.sources, addr)
	}
}

func sorted(sets map[string]*peerSet) []peerSet {
	var all []peerSet
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		all = append(all, *sets[name])
	}
	return all
}

// printFormats prints how many sets of each half can be read, and which of the first
// cannot. Those of the other are not named, since nobody is to look at them.
func printFormats(out io.Writer, data string) error {
	all, err := judgeFormats(data)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| test logs of | half | readable | expected addresses found |\n|---|---|---|---|")
	for _, r := range all {
		half := "looked at"
		if r.reported {
			half = "reported"
		}
		fmt.Fprintf(out, "| %s | %s | %d of %d (%d %%) | %d of %d (%d %%) |\n", r.peer, half,
			r.readable, r.sets, percent(r.readable, r.sets), r.found, r.sources, percent(r.found, r.sources))
	}
	for _, r := range all {
		if !r.reported {
			fmt.Fprintf(out, "\nnot readable of %s, looked at: %s\n", r.peer, strings.Join(r.unread, " "))
		}
	}
	return nil
}

// percent returns a share of all, rounded.
func percent(n, all int) int { return (200*n + all) / (2 * max(all, 1)) }
