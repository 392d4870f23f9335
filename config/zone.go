package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
	_ "time/tzdata" // a container may have no zones
)

// Location returns the zone of times that name none, nil for the host's.
func (l *AccessLog) Location() (*time.Location, error) {
	if l.Zone == "" {
		return nil, nil
	}
	return ParseZone(l.Zone)
}

var offsetForm = regexp.MustCompile(`^[+-](0\d|1[0-4]):([0-5]\d)$`)

// ParseZone reads a zone by its name, such as Europe/Berlin or UTC, or its offset from UTC, such
// as +05:30. The error says what may be.
func ParseZone(text string) (*time.Location, error) {
	if offsetForm.MatchString(text) {
		hours, _ := strconv.Atoi(text[1:3]) // the form has digits there
		minutes, _ := strconv.Atoi(text[4:])
		seconds := hours*3600 + minutes*60
		if text[0] == '-' {
			seconds = -seconds
		}
		return time.FixedZone(text, seconds), nil
	}
	zone, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return nil, fmt.Errorf("%q is no zone: use a name such as Europe/Berlin or UTC, or an offset such as +05:30; without one it is the host's", text)
	}
	return zone, nil
}
