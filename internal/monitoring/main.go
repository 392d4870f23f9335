// Command monitoring writes what Prometheus and Grafana need to watch edgeguard:
//
//	go run ./internal/monitoring
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
	flag.Parse()
	if err := run(*to); err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

// run writes all files into a folder.
func run(folder string) error {
	files, err := generate()
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

// generate returns the content of each file by its path in the folder.
func generate() (map[string][]byte, error) {
	board, err := newDashboard().json()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"prometheus/rules.yml":   []byte(rulesFile()),
		"grafana/edgeguard.json": board,
	}, nil
}
