package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a small one with a program that says what it "counts".
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	for _, program := range []string{"git", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	r := &repository{t, t.TempDir()}
	r.git("init", "-q")
	r.write("go.mod", "module edgeguard\n\ngo 1.26\n")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	text, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, text)
	}
	return strings.TrimSpace(string(text))
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// commit commits the tree, in which operations cost as is said.
func (r *repository) commit(lines string) string {
	r.t.Helper()
	if lines != "" {
		r.write("loadtest/instructions/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Print(`"+lines+"`) }\n")
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "a commit")
	return r.git("rev-parse", "HEAD")
}

const (
	before = "BenchmarkA\t1\t100 instructions/op\nBenchmarkB\t1\t200 instructions/op\nBenchmarkC\t1\t300 instructions/op\nBenchmarkOld\t1\t7 instructions/op\n"
	now    = "BenchmarkA\t1\t104 instructions/op\nBenchmarkB\t1\t240 instructions/op\nBenchmarkC\t1\t150 instructions/op\nBenchmarkNew\t1\t7 instructions/op\n"
)

func TestCompareTellsInstructions(t *testing.T) {
	r := newRepository(t)
	base := r.commit(before)
	r.commit(now)
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	err := compare(t.Context(), base, Options{Root: r.dir}, &out, io.Discard)
	if !errors.Is(err, errMore) || !strings.HasPrefix(err.Error(), "1 operations") {
		t.Errorf("error %v, want that one operation takes more", err)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	text := strings.Join(rows, "\n")
	for _, want := range []string{"B 200 240 +20.0 %", "C 300 150 -50.0 %", "1 of 3 operations are within 5 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "A 100") || strings.Contains(text, "Old") || strings.Contains(text, "New") {
		t.Errorf("it tells what has not changed, or what only one has:\n%s", text)
	}
	r.left(os.Getenv("TMPDIR"))
	if err := compare(t.Context(), "HEAD", Options{Root: r.dir}, io.Discard, io.Discard); err != nil {
		t.Errorf("a commit beside itself: %v", err)
	}
}

// left holds that nothing of a comparison is left.
func (r *repository) left(temp string) {
	r.t.Helper()
	if trees := strings.Count(r.git("worktree", "list"), "\n") + 1; trees != 1 {
		r.t.Errorf("%d worktrees are left", trees)
	}
	if files, err := filepath.Glob(temp + "/eg-*"); err != nil || len(files) > 0 {
		r.t.Errorf("left: %v (%v)", files, err)
	}
}

func TestCompareRefusesWhatItCannotCompare(t *testing.T) {
	r := newRepository(t)
	empty := r.commit("")
	whole := r.commit(before)
	t.Setenv("TMPDIR", t.TempDir())
	try := func(base, want string) {
		t.Helper()
		err := compare(t.Context(), base, Options{Root: r.dir}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", base, err, want)
		}
		r.left(os.Getenv("TMPDIR"))
	}
	if err := compare(t.Context(), whole, Options{Root: r.dir, Only: []string{"add", "tools"}}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "cannot run tools by turns") {
		t.Errorf("a part that takes no turns: %v", err)
	}
	try("no-such", "-compare no-such: git knows no such commit here")
	try("--help", "-compare --help: git knows no such commit here")
	try(empty, "it has no loadtest/instructions to run")
	r.write("new.txt", "not committed")
	try(whole, "this tree has changes: commit them")
}
