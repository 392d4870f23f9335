package main

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// who is what a label says of an address.
type who struct {
	label    string
	requests int
}

// attackers are the labels of those who are to be found. All other labels are of
// those who may not be blocked.
var attackers = []string{"scan", "brute"}

func (w who) attacker() bool {
	for _, a := range attackers {
		if w.label == a {
			return true
		}
	}
	return false
}

// labels says by folder who is who in its log.
type labels struct {
	folders []string // in the order of the file
	of      map[string]map[netip.Addr]who
}

// readLabels reads lines of four columns with tabs between: folder, address, label,
// requests. Lines that begin with # are comments.
func readLabels(r io.Reader) (labels, error) {
	l := labels{of: make(map[string]map[netip.Addr]who)}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		if err := l.add(strings.Split(text, "\t")); err != nil {
			return labels{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return l, lines.Err()
}

func (l *labels) add(columns []string) error {
	if len(columns) != 4 {
		return fmt.Errorf("%d columns: write folder, address, label and requests with a tab between", len(columns))
	}
	folder := columns[0]
	addr, err := netip.ParseAddr(columns[1])
	if err != nil {
		return err
	}
	requests, err := strconv.Atoi(columns[3])
	if err != nil {
		return err
	}
	if l.of[folder] == nil {
		l.folders = append(l.folders, folder)
		l.of[folder] = make(map[netip.Addr]who)
	}
	l.of[folder][addr] = who{columns[2], requests}
	return nil
}
