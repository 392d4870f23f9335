package traffic

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"edgeguard/sensor/accesslog"
)

// Recorded returns the file with the log of a folder: the one that is named access.log,
// with whatever comes after.
func Recorded(folder string) (file string, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "access.log*"))
	if err == nil && len(names) != 1 {
		err = fmt.Errorf("%s has %d files access.log*: put one log there", folder, len(names))
	}
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// recorded reads the log of a folder. Its addresses become clients in the order
// of their first request; the midnight (UTC) before it becomes [Start].
func (p *plan) recorded(folder string) (Scenario, error) {
	file, err := Recorded(folder)
	if err != nil {
		return Scenario{}, fmt.Errorf("the recorded log is left out: %w", err)
	}
	all, err := readRecord(file)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s has no request", file)
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("the recorded log is left out: %w", err)
	}
	return Scenario{Name: "recorded", What: "a real log, whose addresses are numbered: who is up to no good is not known",
		Limit: p.site / 20, Window: p.window, Nodes: 1,
		Requests: func(uint64) iter.Seq[Request] { return slices.Values(all) }}, nil
}

func readRecord(name string) ([]Request, error) {
	log, err := accesslog.Open(name, nil, accesslog.Options{})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	d, clients, first := draft{}, map[netip.Addr]int{}, time.Time{}
	for {
		events, err := log.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i := range events {
			ev := &events[i]
			if first.IsZero() {
				first = ev.Time.Truncate(24 * time.Hour)
			}
			client, known := clients[ev.Addr]
			if !known {
				client = len(clients)
				clients[ev.Addr] = client
			}
			d.add(max(0, ev.Time.Sub(first)), client)
		}
	}
	d.sort()
	return d.all, nil
}
