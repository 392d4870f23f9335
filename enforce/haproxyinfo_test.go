package enforce

import "testing"

// The differences are of one process each, whatever its number was before.
func TestHAProxyDrops(t *testing.T) {
	var d HAProxyDrops
	for i, step := range []struct {
		is   HAProxyProcess
		want uint64
	}{
		{HAProxyProcess{PID: 7, Uptime: 100, DroppedLogs: 50}, 0}, // before edgeguard
		{HAProxyProcess{PID: 7, Uptime: 110, DroppedLogs: 50}, 0},
		{HAProxyProcess{PID: 7, Uptime: 120, DroppedLogs: 53}, 3},
		{HAProxyProcess{PID: 8, Uptime: 2, DroppedLogs: 4}, 4}, // a reload
		{HAProxyProcess{PID: 7, Uptime: 131, DroppedLogs: 60}, 7},
		{HAProxyProcess{PID: 8, Uptime: 12, DroppedLogs: 4}, 0},
		{HAProxyProcess{PID: 8, Uptime: 1, DroppedLogs: 9}, 9},  // a restart under one number
		{HAProxyProcess{PID: 8, Uptime: 11, DroppedLogs: 2}, 2}, // it was not looked at in between
	} {
		if got := d.Since(step.is); got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
	for pid := range uint64(100) {
		d.Since(HAProxyProcess{PID: 100 + pid, DroppedLogs: 1})
	}
	if len(d.seen) > mostProcesses {
		t.Errorf("%d processes are remembered", len(d.seen))
	}
}
