package config

import (
	"log/slog"

	"edgeguard/config/yaml"
)

// Log is what the node's messages look like.
type Log struct {
	JSON  bool       // one object a line, for programs; else text
	Level slog.Level // messages below it are left out
}

// levels are the words of levels.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (l *Log) read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"format": func(n yaml.Node) { l.JSON = n.Choice("text", "json") == "json" },
		"level":  func(n yaml.Node) { l.Level = levels[n.Choice("debug", "info", "warn", "error")] },
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
