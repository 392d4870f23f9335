package setup

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// readTraefik reads Traefik's static configuration, in YAML or TOML, line by line: of
// accessLog only its keys filePath and format are needed, of its providers the files of routers.
func readTraefik(s *source, file string) error {
	text, err := s.readFile(file)
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
			l, within, depth = &Log{At: lineOf(file, number), Format: "combined"}, true, indent
			continue
		case bare[0] == '[', indent <= depth && strings.HasSuffix(file, "ml") && !strings.HasSuffix(file, "toml"):
			within = false
		}
		if within {
			traefikKey(l, bare)
		} else if key, value := traefikValue(bare); value != "" && (key == "filename" || key == "directory") {
			traefikRouters(s, absolute(path.Dir(file), value), key == "directory")
		}
	}
	switch {
	case l == nil:
		s.doubt("%s: no accessLog: add one with a filePath, or see edgeguard snippets traefik", file)
	case l.File == "":
		l.Unusable = "goes to standard output: give accessLog a filePath"
		s.addLog(*l)
	default:
		s.addLog(*l)
	}
	return nil
}

// traefikValue returns what a line sets.
func traefikValue(line string) (key, value string) {
	end := strings.IndexAny(line, ":=")
	if end < 0 {
		return "", ""
	}
	return strings.ToLower(strings.TrimSpace(line[:end])), strings.Trim(strings.TrimSpace(line[end+1:]), `"'`)
}

// traefikKey reads a key of accessLog.
func traefikKey(l *Log, line string) {
	switch key, value := traefikValue(line); {
	case key == "filepath" && value != "":
		l.File = absolute("/", value)
	case key == "format" && value == "json":
		l.Format = "json"
	}
}

// hostRule is a rule's Host(`a`, `b`), and what it is not.
var hostRule = regexp.MustCompile(`(!\s*)?\bHost\(([^)]*)\)`)

// traefikRouters takes the names of the routers in a file, or in those of a folder.
func traefikRouters(s *source, place string, isFolder bool) {
	files := []string{place}
	if isFolder {
		files = slices.Concat(s.files.Glob(place+"/*.yml"), s.files.Glob(place+"/*.yaml"), s.files.Glob(place+"/*.toml"))
	}
	for _, file := range files {
		text, _ := s.readFile(file) // without it there are no names
		number := 0
		for line := range strings.Lines(text) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			v := &virtual{at: lineOf(file, number)}
			for _, m := range hostRule.FindAllStringSubmatch(line, -1) {
				if m[1] == "" {
					v.names = append(v.names, strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune("`'\", \\", r) })...)
				}
			}
			if s.addVirtual(v); len(s.found.Hosts.Names) > 0 {
				s.unsure("%s: containers and other providers may have more routers", s.found.Config)
			}
		}
	}
}
