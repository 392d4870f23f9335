package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// processTime returns the processor time that the threads of a process have used which
// still run. [program.CPU] counts all, in steps that are too coarse for a turn.
func processTime(pid int) (sum time.Duration, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d has ended, or this is no Linux", pid)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a thread that has just ended
		}
		n, err := leading(text, err)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", task, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// leading returns the number at the beginning of what was read.
func leading(text []byte, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	words := bytes.Fields(text)
	if len(words) == 0 {
		return 0, errors.New("the kernel says nothing")
	}
	return strconv.Atoi(string(words[0]))
}

// familyTime returns what a process and its children have used which still run.
func familyTime(pid int) (sum time.Duration, err error) {
	if sum, err = processTime(pid); err != nil {
		return 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for _, f := range bytes.Fields(children) {
		child, err := strconv.Atoi(string(f))
		if err != nil {
			return 0, err
		}
		if t, err := processTime(child); err == nil { // else it has just ended, as nginx's cache loader does, having done nothing
			sum += t
		}
	}
	return sum, nil
}

// cpu returns the time that the site's web server has used, and the program beside it.
func (s *site) cpu() (server, beside time.Duration, err error) {
	for _, p := range s.procs {
		t, err := familyTime(p.PID())
		if err != nil {
			return 0, 0, err
		}
		if p.server {
			server += t
		} else {
			beside += t
		}
	}
	return server, beside, nil
}

// settled returns the same after all that was asked has been counted. A turn is not over
// before: the last lines are in the server's buffer, or on their way.
func (s *site) settled(ctx context.Context) (server, beside time.Duration, err error) {
	// Longer than nginx keeps a line. A question to edgeguard that comes too early is
	// charged to it: one to thousands of requests.
	if err := pause(ctx, 150*time.Millisecond); err != nil {
		return 0, 0, err
	}
	for began := time.Now(); s.counted != nil; {
		n, err := s.counted(ctx, s)
		if err != nil || n >= s.asked {
			break
		}
		if time.Since(began) > patience {
			return 0, 0, fmt.Errorf("%d of %d requests are counted%s", n, s.asked, s.said())
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
	server, beside, err = s.cpu()
	// Who cannot be asked has counted when he rests for as long as he ever does.
	for last := time.Duration(-1); s.rests > 0 && err == nil && beside-last > 5*time.Millisecond; {
		last = beside
		if err = pause(ctx, s.rests); err == nil {
			server, beside, err = s.cpu()
		}
	}
	return server, beside, err
}
