package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"edgeguard"
	"edgeguard/loadtest/tuned"
	"edgeguard/sensor/accesslog"
)

// labelsFile is the file of a data folder that says who is who.
const labelsFile = "labels-web.tsv"

// errNoData is returned where there is no folder of labelled logs.
var errNoData = errors.New("no labelled logs")

// openLabels reads the labels of a data folder.
func openLabels(data string) (tuned.Labels, error) {
	file, err := os.Open(filepath.Join(data, labelsFile))
	if errors.Is(err, os.ErrNotExist) {
		return tuned.Labels{}, fmt.Errorf("%w: %v: name a folder with -data", errNoData, err)
	}
	if err != nil {
		return tuned.Labels{}, err
	}
	defer file.Close()
	l, err := tuned.ReadLabels(file)
	if err != nil {
		return tuned.Labels{}, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return l, nil
}

// openLog opens the log of a folder: access.log, or the same compressed.
func openLog(folder string) (*accesslog.Reader, error) {
	names, err := filepath.Glob(filepath.Join(folder, "access.log*"))
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("%s: %d files access.log*: put one log there", folder, len(names))
	}
	return accesslog.Open(names[0], nil, accesslog.Options{})
}

// memory is a source of events that are there already.
type memory struct{ events []edgeguard.Event }

func (m *memory) Next() ([]edgeguard.Event, error) {
	events := m.events
	m.events = nil
	if events == nil {
		return nil, io.EOF
	}
	return events, nil
}
