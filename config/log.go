package config

import (
	"log/slog"

	"edgeguard/config/key"
)

// Log is what the node's messages look like.
type Log struct {
	JSON  bool       // one object a line, for programs; else text
	Level slog.Level // messages below it are left out
}

func (l *Log) keys() key.List {
	return key.List{
		key.Either("format", &l.JSON, "text", "json", "`json`: one object a line, with `time`, `level`, `msg` and the message's fields"),
		key.Word("level", &l.Level, []string{"debug", "info", "warn", "error"},
			[]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}, "the least that is written"),
	}
}
