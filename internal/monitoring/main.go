// Command monitoring writes what Prometheus and Grafana need to watch edgeguard:
//
//	go run ./internal/monitoring
//	go run ./internal/monitoring -to /tmp/deploy -runbooks https://git.example.net/edgeguard/docs/operations.md
//
// makes deploy/prometheus/rules.yml of alerts.go, and deploy/grafana/edgeguard.json
// of panels.go. Both are in the repository, so that an operator needs no Go. A test
// fails if they differ from what this program makes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . -to ../../deploy

func main() {
	to := flag.String("to", "deploy", "the `folder` to write to")
	page := flag.String("runbooks", runbooks, "the `ADDRESS` of docs/operations.md where who is woken up can read it")
	flag.Parse()
	if err := run(*to, *page); err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

// run writes all files into a folder.
func run(folder, page string) error {
	if err := checkPage(page); err != nil {
		return err
	}
	files, err := generate(page)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the content of each file by its path in the folder. page has the
// runbooks.
func generate(page string) (map[string][]byte, error) {
	board, err := newDashboard().json()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"prometheus/rules.yml":   []byte(rulesFile(page)),
		"grafana/edgeguard.json": board,
	}, nil
}
