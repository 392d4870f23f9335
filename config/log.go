package config

import (
	"log/slog"

	"edgeguard/config/read"
)

// Log is what the node's messages look like.
type Log struct {
	JSON  bool       // one object a line, for programs; else text
	Level slog.Level // messages below it are left out
}

// levels are the words of levels.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (l *Log) read(n read.Node) {
	n.Mapping(read.Fields{
		"format": func(n read.Node) { l.JSON = n.Choice("text", "json") == "json" },
		"level":  func(n read.Node) { l.Level = levels[n.Choice("debug", "info", "warn", "error")] },
	})
}

func (p *printer) log(l Log) {
	format, level := "text", ""
	if l.JSON {
		format = "json"
	}
	for name, value := range levels {
		if value == l.Level {
			level = name
		}
	}
	p.Field(0, "log", "{format: "+format+", level: "+level+"}")
}
