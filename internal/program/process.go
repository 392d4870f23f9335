package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen. Nothing is
// measured by it.
const patience = 2 * time.Minute

// Process is a running edgeguard, or one that ran. It is used by the test's
// goroutine, except for Said.
type Process struct {
	// Folder holds its config, and what that places there.
	Folder string
	// As is the user of the next start, nil for the test's.
	As *syscall.Credential
	// Program is the path of the next start's program, "" for this version's.
	Program string
	// Args are those of the next start, nil for a node with the config; Env is
	// added to its environment.
	Args, Env []string

	t       testing.TB
	process *exec.Cmd // nil while none runs
	ended   chan error
	said    *output
}

// NewNode writes a config, in which $DIR means the process's folder, and starts
// nothing. Whatever runs at the end of the test is killed; what it said is shown
// if the test has failed.
func NewNode(t testing.TB, yaml string) *Process {
	t.Helper()
	folder, err := os.MkdirTemp("", "node") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, Folder: folder, said: new(output)}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			said := p.Said()
			t.Logf("the end of what edgeguard said:\n%s", said[max(0, len(said)-4000):])
		}
		_ = os.RemoveAll(folder)
	})
	if err := os.WriteFile(p.Path("config.yaml"), []byte(strings.ReplaceAll(yaml, "$DIR", folder)), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// Path is that of a file in the folder.
func (p *Process) Path(name string) string { return filepath.Join(p.Folder, name) }

// Said is what the process has written so far, in all its runs.
func (p *Process) Said() string { return p.said.String() }

// PID is the process's id. It must run.
func (p *Process) PID() int { return p.process.Process.Pid }

// Launch runs the program and waits for nothing.
func (p *Process) Launch() {
	p.t.Helper()
	program, err := p.Program, error(nil)
	if program == "" {
		program, err = Build()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	args := p.Args
	if args == nil {
		args = []string{"serve", "--config", p.Path("config.yaml")}
	}
	p.process = exec.Command(program, args...)
	p.process.Env = append(os.Environ(), p.Env...)
	p.process.SysProcAttr = &syscall.SysProcAttr{Credential: p.As}
	p.process.Stdout, p.process.Stderr = p.said, p.said
	if err := p.process.Start(); err != nil {
		p.process = nil
		p.t.Fatal(err)
	}
	p.ended = make(chan error, 1)
	go func(c *exec.Cmd, ended chan<- error) { ended <- c.Wait() }(p.process, p.ended)
}

// Stop has it end as an operator would, and requires no error of it.
func (p *Process) Stop() {
	p.t.Helper()
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		p.process = nil
		if err != nil {
			p.t.Fatalf("after SIGTERM: %v", err)
		}
	case <-time.After(patience):
		p.t.Fatal("it does not end")
	}
}

// Kill ends it with SIGKILL, if it runs.
func (p *Process) Kill() {
	if p.process == nil {
		return
	}
	_ = p.process.Process.Kill()
	<-p.ended
	p.process = nil
}

// Lives fails the test if the process has ended by itself.
func (p *Process) Lives() {
	p.t.Helper()
	select {
	case err := <-p.ended:
		p.process = nil
		p.t.Fatalf("it ended by itself: %v", err)
	default:
	}
}

// Until waits for what must come.
func (p *Process) Until(what string, holds func() bool) {
	p.t.Helper()
	Eventually(p.t, what, func() bool {
		p.Lives()
		return holds()
	})
}
