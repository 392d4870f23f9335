package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
)

// zones say in which zone the times of each file are that name none: the flag's, or else that of
// the config's source that the file is or was rotated from, or else the host's.
type zones struct {
	flag    string
	sources []config.AccessLog
}

// of returns the zone of a file, and how it is called.
func (z zones) of(file string) (zone *time.Location, name string, err error) {
	if z.flag != "" {
		if zone, err = config.ParseZone(z.flag); err != nil {
			return nil, "", command.Usage(err)
		}
		return zone, z.flag, nil
	}
	full, _ := filepath.Abs(file) // fails only without a working directory
	for _, log := range z.sources {
		source, _ := filepath.Abs(log.File)
		matches := log.IsPattern() && matchesBegin(source, full)
		rest, found := strings.CutPrefix(full, source)
		if (matches || found && log.File != "" && (rest == "" || rest[0] == '.' || rest[0] == '-')) && log.Zone != "" {
			zone, err = log.Location()
			return zone, log.Zone + ", the zone of its source in the config", err
		}
	}
	return time.Local, hostZone() + ", this host's zone; --zone names another", nil
}

// matchesBegin reports whether a pattern matches a path, or what it was rotated from.
func matchesBegin(pattern, file string) bool {
	for end := len(file); end > 0; end = strings.LastIndexAny(file[:end], ".-") {
		if matches, _ := filepath.Match(pattern, file[:end]); matches {
			return true
		}
	}
	return false
}

// hostZone returns the name of the host's zone, or its abbreviation where nothing names it.
func hostZone() string {
	name, set := os.LookupEnv("TZ")
	if name = strings.TrimPrefix(name, ":"); set && name == "" {
		return "UTC"
	}
	if !set {
		target, err := os.Readlink("/etc/localtime")
		if err == nil {
			_, name, _ = strings.Cut(target, "zoneinfo/")
		}
	}
	if _, err := time.LoadLocation(name); err == nil && name != "" {
		return name
	}
	name, _ = time.Now().Zone()
	return name
}
