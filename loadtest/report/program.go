package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"edgeguard/internal/program"
)

// program builds edgeguard once and gives the path of the binary.
func (r *runner) program() (string, error) {
	if r.binary != "" {
		return r.binary, nil
	}
	path, err := program.Compile(r.ctx, r.dir, program.Edgeguard)
	if err == nil {
		r.binary = path
	}
	return path, err
}

// file generates an input, once, and gives its path.
func (r *runner) file(name string, write func(io.Writer) error) (string, error) {
	path := filepath.Join(r.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	fmt.Fprintf(r.notes, "writing %s\n", name)
	if err := write(file); err != nil {
		_ = os.Remove(path) // half a file must not be taken for a whole one
		return "", err
	}
	return path, nil
}

// sawAll checks the summary that replay --json prints last: the events must be
// as many as were in the file, and none skipped.
func sawAll(events int) func([]byte) error {
	return func(output []byte) error {
		var last struct {
			Type            string
			Events, Skipped int
		}
		lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
		if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || last.Type != "summary" {
			return fmt.Errorf("edgeguard replay printed no summary, but %.60q", lines[len(lines)-1])
		}
		if last.Events != events || last.Skipped != 0 {
			return fmt.Errorf("edgeguard replay saw %d events and skipped %d, the file has %d", last.Events, last.Skipped, events)
		}
		return nil
	}
}
