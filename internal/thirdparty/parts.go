package main

import (
	"bytes"
	_ "embed" // Go's licence
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// part is the work of others in the program.
type part struct {
	name, version string // without a version for Go itself: that is the builder's
	npm           bool   // a package of npm, not a Go module
	sha512        []byte // of npm's package
	files         []file // its licences and notices
}

// file is a text that must come with the part.
type file struct{ name, text string }

// goLicence is that of Go's own library. Not every installation of Go has it.
//
//go:embed go-license.txt
var goLicence string

// program is what is shipped, and chart is where its chart library lies.
const (
	program = "edgeguard/cmd/edgeguard"
	chart   = "admin/console/thirdparty/uplot"
)

// linked returns the parts of the program as it is shipped, by name.
func linked() ([]part, error) {
	folders := make(map[string]*module)
	for _, arch := range []string{"amd64", "arm64"} {
		if err := list(arch, folders); err != nil {
			return nil, err
		}
	}
	parts := []part{{name: "Go", files: []file{{"LICENSE", goLicence}}}}
	for _, path := range slices.Sorted(maps.Keys(folders)) {
		m := folders[path]
		files, err := m.texts()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{name: path, version: m.Version, files: files})
	}
	root, err := goCommand("", "list", "-m", "-f", "{{.Dir}}", "edgeguard")
	if err != nil {
		return nil, err
	}
	uplot, err := chartLibrary(filepath.Join(strings.TrimSpace(string(root)), chart))
	return append(parts, uplot), err
}

// module is a Go module, and the folders of its packages that are linked.
type module struct {
	Version, Dir string
	packages     []string
}

// list adds the modules of the program for one processor.
func list(arch string, folders map[string]*module) error {
	out, err := goCommand(arch, "list", "-deps", "-json=Module,Dir", program)
	if err != nil {
		return err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case p.Module == nil || p.Module.Main:
			continue
		}
		m := folders[p.Module.Path]
		if m == nil {
			m = &module{Version: p.Module.Version, Dir: p.Module.Dir}
			folders[p.Module.Path] = m
		}
		m.packages = append(m.packages, p.Dir)
	}
}

func goCommand(arch string, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if arch != "" {
		c.Env = append(c.Env, "GOOS=linux", "GOARCH="+arch)
	}
	out, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("go %s: %s", strings.Join(args, " "), failed.Stderr)
	}
	return out, err
}

// texts returns the licences and notices of a module: those in the folders of its
// linked packages, and in the folders above these.
func (m *module) texts() ([]file, error) {
	found := make(map[string]string)
	for _, dir := range m.packages {
		for strings.HasPrefix(dir, m.Dir) {
			if err := collect(m.Dir, dir, found); err != nil {
				return nil, err
			}
			dir = filepath.Dir(dir)
		}
	}
	var files []file
	for _, name := range slices.Sorted(maps.Keys(found)) {
		files = append(files, file{name, found[name]})
	}
	return files, nil
}

// collect adds the licences and notices of a folder, named as seen from root.
func collect(root, dir string, found map[string]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if !e.Type().IsRegular() || !slices.ContainsFunc([]string{"LICEN", "COPYING", "NOTICE", "PATENTS"}, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found[filepath.ToSlash(rel)] = string(text)
	}
	return nil
}

// chartLibrary returns the JavaScript library in a folder. Its VERSION is "name@version
// sha512-BASE64", of npm's package.
func chartLibrary(dir string) (part, error) {
	text, err := os.ReadFile(filepath.Join(dir, "VERSION"))
	if err != nil {
		return part{}, err
	}
	pack, integrity, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	name, version, _ := strings.Cut(pack, "@")
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(integrity, "sha512-"))
	if err != nil || version == "" {
		return part{}, fmt.Errorf("%s/VERSION: not NAME@VERSION sha512-BASE64: %q", dir, text)
	}
	licence, err := os.ReadFile(filepath.Join(dir, "LICENSE"))
	return part{name: name, version: version, npm: true, sha512: sum, files: []file{{"LICENSE", string(licence)}}}, err
}
