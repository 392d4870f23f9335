package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Tables that were printed take the place of those with their header, and the rest stays.
func TestWriteTables(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const before = "# Page\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nIn 36 more scenes no visitor is blocked or denied.\n\n| c |\n|---|\n| 3 |\n"
	const after = "# Page\n\n| a | b |\n|---|---|\n| 4 | 5 |\n| 6 | 7 |\n\nIn 3 more scenes no visitor is blocked or denied.\n\n| c |\n|---|\n| 3 |\n"
	if err := os.WriteFile(page, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	printed := []byte("By the scenes:\n\n| a | b |\n|---|---|\n| 4 | 5 |\n| 6 | 7 |\n\nIn 3 more scenes no visitor is blocked or denied.\n| d |\n|---|\n")
	if err := writeTables(page, printed); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != after {
		t.Errorf("%q, %v", got, err)
	}
	if err := writeTables(page, []byte("| e |\n")); err == nil {
		t.Error("no table of the page was printed, and no error")
	}
}
