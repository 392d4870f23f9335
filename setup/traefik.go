package setup

import "strings"

// readTraefik reads Traefik's static configuration, in YAML or TOML, line by line: of
// accessLog only its keys filePath and format are needed.
func readTraefik(s *source, file string) error {
	text, err := s.read(file)
	if err != nil {
		return err
	}
	l, within, depth, number := (*Log)(nil), false, 0, 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(strings.TrimRight(line, " \t\r\n"), " #")
		bare := strings.TrimLeft(line, " \t")
		if bare == "" || bare[0] == '#' {
			continue
		}
		indent := len(line) - len(bare)
		switch lower := strings.ToLower(bare); {
		case lower == "accesslog:" || lower == "accesslog: {}" || lower == "[accesslog]":
			l, within, depth = &Log{At: at(file, number), Format: "combined"}, true, indent
			continue
		case bare[0] == '[', indent <= depth && strings.HasSuffix(file, "ml") && !strings.HasSuffix(file, "toml"):
			within = false
		}
		if within {
			traefikKey(l, bare)
		}
	}
	switch {
	case l == nil:
		s.doubt("%s: no accessLog: add one with a filePath, or see edgeguard snippets traefik", file)
	case l.File == "":
		l.Unusable = "goes to standard output: give accessLog a filePath"
		s.add(*l)
	default:
		s.add(*l)
	}
	return nil
}

// traefikKey reads a key of accessLog.
func traefikKey(l *Log, line string) {
	end := strings.IndexAny(line, ":=")
	if end < 0 {
		return
	}
	key, value := strings.TrimSpace(line[:end]), strings.Trim(strings.TrimSpace(line[end+1:]), `"'`)
	switch strings.ToLower(key) {
	case "filepath":
		l.File = absolute("/", value)
	case "format":
		if value == "json" {
			l.Format = "json"
		}
	}
}
