package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
)

// TestOldHosts holds that a log in which an old nginx lets clients write addresses is named,
// and no other.
func TestOldHosts(t *testing.T) {
	const hostFirst = `$host $remote_addr - $remote_user [$time_local] "$request" $status`
	for _, test := range []struct {
		said, format string
		want         bool
	}{
		{"nginx version: nginx/1.18.0 (Ubuntu)", hostFirst, true},
		{"nginx version: nginx/1.21.0", "docker:" + hostFirst, true},
		{"nginx version: nginx/1.21.1", hostFirst, false},
		{"nginx version: openresty/1.25.3.1", hostFirst, false},
		{"nginx version: nginx/1.18.0", `$remote_addr - $remote_user [$time_local] $host "$request" $status`, false},
		{"nginx version: nginx/1.18.0", "combined", false},
	} {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "nginx"), []byte("#!/bin/sh\necho '"+test.said+"' >&2\n"), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
		t.Setenv("PATH", bin)
		c := config.Default()
		c.Sensors.AccessLog = []config.AccessLog{{File: "/var/log/a.log", Format: test.format}}
		told := OldHosts(t.Context(), c)
		if (len(told) == 1) != test.want || test.want && !strings.Contains(told[0], "/var/log/a.log: nginx/1.") {
			t.Errorf("%s, %s: %q", test.said, test.format, told)
		}
	}
}
