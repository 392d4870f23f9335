package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgeguard/config/yaml"
	"edgeguard/internal/safepath"
	"edgeguard/internal/smallfile"
)

// Piece is a file of the folder conf.d beside a config, which adds to it.
type Piece struct {
	File string   `json:"file"`
	Sets []string `json:"sets"` // the paths of what it adds
}

// String says what it adds.
func (p Piece) String() string {
	if len(p.Sets) == 0 {
		return p.File + " adds nothing"
	}
	return p.File + " adds " + strings.Join(p.Sets, ", ")
}

// Located returns a path, with the file before it where a piece has what is there.
func (c *Config) Located(path string) string {
	for _, piece := range c.Pieces {
		for _, set := range piece.Sets {
			if rest, in := strings.CutPrefix(path, set); in && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return piece.File + ": " + path
			}
		}
	}
	return path
}

// What the folder of pieces is called, and how many it may have.
const (
	piecesFolder = "conf.d"
	mostPieces   = 100
)

// written is the text of a config file, or of a piece.
type written struct {
	file string
	text []byte
}

// readMain reads a config file without its pieces.
func readMain(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, yaml.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("config: read %s: %w", path, err)
	}
	return text, nil
}

// withPieces reads the pieces beside a config file, which has a text. The error is an [*Errors]
// where some cannot be read, and then there is what could be.
func withPieces(path string, text []byte) (all []written, warnings []yaml.Fault, err error) {
	all = []written{{path, text}}
	names, warnings, wrong := piecesOf(path)
	if open, ok := openToAll(path); ok {
		warnings = append(warnings, open)
	}
	size := 0
	for _, name := range names {
		text, err := smallfile.Read(name, yaml.MaxFile)
		if err != nil {
			wrong = append(wrong, yaml.Fault{File: name, Text: "cannot be read: " + err.Error(), Fix: "make it readable, or remove it: no part of a config is left out"})
			continue
		}
		if size += len(text); size > yaml.MaxFile {
			wrong = append(wrong, yaml.Fault{File: filepath.Dir(name), Text: fmt.Sprintf("has more than %d bytes", yaml.MaxFile), Fix: "make the pieces smaller"})
			break
		}
		all = append(all, written{name, text})
	}
	if len(wrong) > 0 {
		err = &Errors{Problems: wrong}
	}
	return all, warnings, err
}

// HasPieces reports whether there is a piece, or what may be one, beside a config file.
func HasPieces(path string) bool {
	names, _, wrong := piecesOf(path)
	return len(names) > 0 || len(wrong) > 0
}

// piecesOf returns the files of the folder beside a config file in the order of their names, without
// those that another user put there.
func piecesOf(path string) (names []string, warnings, wrong []yaml.Fault) {
	folder := filepath.Join(filepath.Dir(path), piecesFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, []yaml.Fault{{File: folder, Text: "cannot be read: " + err.Error(), Fix: "make it readable, or remove it: no part of a config is left out"}}
	}
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		switch ext := filepath.Ext(name); {
		case strings.HasPrefix(e.Name(), "."):
		case ext == ".yaml":
			names = append(names, name)
		case ext == ".yml":
			warnings = append(warnings, yaml.Fault{File: name, Text: "is not read", Fix: "give it a name that ends in .yaml"})
		}
	}
	if len(names) > mostPieces {
		return nil, warnings, []yaml.Fault{{File: folder, Text: fmt.Sprintf("has %d pieces", len(names)), Fix: fmt.Sprintf("keep at most %d", mostPieces)}}
	}
	if len(names) == 0 {
		return nil, warnings, nil
	}
	planted := func(name string) bool {
		if open, ok := openToAll(name); ok {
			warnings = append(warnings, open)
		}
		owner := safepath.Planted(name, path)
		if owner != "" {
			wrong = append(wrong, yaml.Fault{File: name, Text: "user " + owner + " put it into a folder that every user may write, and the config is another user's", Fix: "remove it, or run `chown root " + name + "`"})
		}
		return owner != ""
	}
	if planted(folder) {
		return nil, warnings, wrong
	}
	return slices.DeleteFunc(names, planted), warnings, wrong
}

// openToAll says that every user of this host may write a file or a folder of the config.
func openToAll(name string) (yaml.Fault, bool) {
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm()&0o002 == 0 {
		return yaml.Fault{}, false
	}
	return yaml.Fault{File: name, Text: fmt.Sprintf("every user of this host may write it (mode %04o)", info.Mode().Perm()), Fix: "run `chmod o-w " + name + "`"}, true
}
