// Command record writes down what real programs ask a web server for: the order, the
// pauses, the headers, and what they do about a page that is gone, a refused password
// or a server that fails. Scenes play it (package scenes):
//
//	go run ./loadtest/scenes/record             all programs that are on this machine
//	go run ./loadtest/scenes/record -only git   one
//
// It runs nginx with a small site on loopback, for the time that it takes (about three
// minutes). What is missing is named and left out. Each recording is a file of
// loadtest/scenes/recorded. davfs2 requires root.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("out", "loadtest/scenes/recorded", "the `folder` that the recordings are written to")
	only := flag.String("only", "", "the one recording that is made")
	flag.Parse()
	if err := run(ctx, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// run makes all recordings, or one.
func run(ctx context.Context, out, only string) error {
	if missing := missingOf([]string{"nginx"}); missing != "" {
		return fmt.Errorf("no %s: apt-get install nginx-light libnginx-mod-http-dav-ext", missing)
	}
	for _, r := range recordings {
		if only != "" && r.name != only {
			continue
		}
		if missing := missingOf(r.needs); missing != "" {
			fmt.Printf("%s: left out, no %s on this machine\n", r.name, missing)
			continue
		}
		if err := r.make(ctx, out); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// missingOf returns the first of these programs and modules that is not there.
func missingOf(needs []string) string {
	for _, name := range needs {
		if name == "root" {
			if os.Geteuid() != 0 {
				return name
			}
			continue
		}
		if name == davModule {
			if found, _ := filepath.Glob(modules + davModule); len(found) == 0 {
				return name
			}
			continue
		}
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
	}
	return ""
}

// make records one program: a site is made for it, and its log is what is kept.
func (r *recording) make(ctx context.Context, out string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	folder, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	s, err := open(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	version, err := exec.CommandContext(ctx, r.version[0], r.version[1:]...).Output()
	if err != nil {
		return err
	}
	first := versionOf(string(version))
	if err := r.run(ctx, s); err != nil {
		return err
	}
	lines, err := s.log()
	if err != nil {
		return err
	}
	file := filepath.Join(out, r.name+".tsv")
	fmt.Printf("%s: %d requests of %s\n", file, len(lines), first)
	var text bytes.Buffer
	fmt.Fprintf(&text, "# %s\n# %s\n# millisecond\tmethod\ttarget\tstatus\treferer\tsec-fetch-site\tsec-fetch-dest\tsec-purpose\tagent\n", first, r.says)
	for _, l := range lines {
		text.WriteString(l + "\n")
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// versionOf returns what a program says of itself, up to the number of its version.
func versionOf(text string) string {
	fields := strings.Fields(text)
	for i, f := range fields {
		if strings.ContainsAny(strings.TrimPrefix(f, "v")[:1], "0123456789") {
			return strings.Join(fields[:i+1], " ")
		}
	}
	return strings.Join(fields, " ")
}

// log returns the requests that nginx has logged, with the time since the first, and
// without the site's address.
func (s *site) log() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(s.folder, "access.log"))
	if err != nil {
		return nil, err
	}
	var lines []string
	start := 0.0
	for line := range strings.Lines(string(text)) {
		at, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			return nil, err
		}
		start = cmp.Or(start, seconds)
		lines = append(lines, fmt.Sprintf("%.0f\t%s", 1000*(seconds-start), strings.ReplaceAll(rest, s.url, "")))
	}
	if len(lines) == 0 {
		return nil, errors.New("it has asked for nothing")
	}
	return lines, nil
}
