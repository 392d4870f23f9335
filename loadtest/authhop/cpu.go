package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of the times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go runs on.
const tick = time.Second / 100

// cpuTime returns the user and system time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold blanks; after it, utime and stime are
	// the 12th and 13th field.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: only %d fields", pid, len(fields))
	}
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// family returns a process and those that it has started and that still run.
func family(pid int) ([]int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	pids := []int{pid}
	for _, f := range bytes.Fields(data) {
		child, err := strconv.Atoi(string(f))
		if err != nil {
			return nil, err
		}
		pids = append(pids, child)
	}
	return pids, nil
}

// familyTime returns what a process and its children have used.
func familyTime(pid int) (sum time.Duration, err error) {
	pids, err := family(pid)
	if err != nil {
		return 0, err
	}
	for _, p := range pids {
		switch t, err := cpuTime(p); {
		case err == nil:
			sum += t
		case p == pid:
			return 0, err
		default: // a child that has just ended, as nginx's cache loader does, having done nothing
		}
	}
	return sum, nil
}

// cpu returns the time that a site's nginx has used, and the processes beside it.
func (s *site) cpu() (nginx, beside time.Duration, err error) {
	for _, p := range s.procs {
		t, err := familyTime(p.Process.Pid)
		if err != nil {
			return 0, 0, err
		}
		if p.Args[0] == "nginx" || p.Args[0] == "haproxy" {
			nginx += t
		} else {
			beside += t
		}
	}
	return nginx, beside, nil
}

// settled returns the same after all that was asked has been counted. A load is
// not over before: the last lines are in nginx's buffer, or on their way.
func (s *site) settled(ctx context.Context) (nginx, beside time.Duration, err error) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		if s.log {
			// Longer than nginx keeps a line. A question that comes too early
			// is charged to the node: one to thousands of requests.
			time.Sleep(200 * time.Millisecond)
		}
		nginx, beside, err = s.cpu()
		if err != nil || s.node == nil {
			return nginx, beside, err
		}
		counted, err := s.counted(ctx)
		if err != nil || counted >= s.asked {
			return nginx, beside, err
		}
		if time.Now().After(deadline) {
			return 0, 0, fmt.Errorf("edgeguard counted %d of %d lines", counted, s.asked)
		}
	}
}
