package tuned

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// Who is what a label says of an address; the zero value is nobody's.
type Who struct {
	Label    string
	Requests int
}

// Attacker reports whether it is one who is to be found. All others with a label may not
// be blocked.
func (w Who) Attacker() bool { return w.Label == "scan" || w.Label == "brute" }

// Labels says by folder who is who in its log.
type Labels struct {
	Folders []string // in the order of the file
	Of      map[string]map[netip.Addr]Who
}

// ReadLabels reads lines of four columns with tabs between: folder, address, label,
// requests. Lines that begin with # are comments.
func ReadLabels(r io.Reader) (Labels, error) {
	l := Labels{Of: make(map[string]map[netip.Addr]Who)}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		if err := l.add(strings.Split(text, "\t")); err != nil {
			return Labels{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return l, lines.Err()
}

func (l *Labels) add(columns []string) error {
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
	if l.Of[folder] == nil {
		l.Folders = append(l.Folders, folder)
		l.Of[folder] = make(map[netip.Addr]Who)
	}
	l.Of[folder][addr] = Who{columns[2], requests}
	return nil
}
