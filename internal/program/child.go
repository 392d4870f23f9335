package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Child is a process that a measurement started, without a test: its errors are
// returned. Its methods are safe for concurrent use.
type Child struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when it has been waited for
}

// StartChild runs a program that writes what it says to a file. It dies with this
// process.
func StartChild(log, name string, args ...string) (*Child, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	c := &Child{cmd: exec.Command(name, args...), log: log, ended: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.SysProcAttr = out, out, DieWithParent()
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = c.cmd.Wait(); close(c.ended) }()
	return c, nil
}

// PID is the process's id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Said is the end of what the process wrote: at most 4,000 bytes.
func (c *Child) Said() string {
	text, _ := os.ReadFile(c.log) // without it there is less to go by, no more
	return string(text[max(0, len(text)-4000):])
}

// Stop asks the process to end, kills it if it has not within ten seconds, and
// returns when it is gone.
func (c *Child) Stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // its only error is that it has ended
	late := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	<-c.ended
}

// tick is the unit of the times in /proc/PID/stat. It is 100 a second on every
// Linux that Go runs on.
const tick = 10 * time.Millisecond

// CPU returns the time that a process has spent on a processor so far, user and
// system, in steps of 10 ms. It asks the kernel and not the process, which would
// have to work to answer.
func CPU(pid int) (time.Duration, error) {
	file := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	// The second field is the name in brackets, which may hold anything; utime and
	// stime are the 12th and 13th after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s is not as expected: %s", file, stat)
	}
	user, err1 := strconv.Atoi(string(fields[11]))
	system, err2 := strconv.Atoi(string(fields[12]))
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%s is not as expected: %s", file, stat)
	}
	return time.Duration(user+system) * tick, nil
}
