package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestVersionOf(t *testing.T) {
	for text, want := range map[string]string{
		"curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1\nRelease-Date: 2023\n": "curl 7.88.1",
		"rclone v1.60.1-DEV\n- os/version: debian":                               "rclone v1.60.1-DEV",
		"git version 2.39.5": "git version 2.39.5",
		"of no number":       "of no number",
	} {
		if got := versionOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestLog: times count from the first request, and the site's address is gone.
func TestLog(t *testing.T) {
	s := &site{folder: t.TempDir(), url: "http://127.0.0.1:8080"}
	log := "1000.250\tGET\t/\t200\t-\tx\n1001.500\tGET\t/a\t404\thttp://127.0.0.1:8080/\tx\n"
	if err := os.WriteFile(filepath.Join(s.folder, "access.log"), []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, err := s.log()
	if want := []string{"0\tGET\t/\t200\t-\tx", "1250\tGET\t/a\t404\t/\tx"}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v; want %q", lines, err, want)
	}
}

// TestMissing: what is not on this machine is named.
func TestMissing(t *testing.T) {
	if got := missingOf([]string{"sh", "no-such-program", "nor-this"}); got != "no-such-program" {
		t.Errorf("missing: %q", got)
	}
}
