//go:build unix

package enforce

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var mixed = []string{"198.51.100.0/24", "203.0.113.7/32", "2001:db8::/64", "2001:db8:1::7/128"}

func newTestFile(t *testing.T, c FileConfig) *File {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "list.conf")
	}
	f, err := NewFile(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func replace(t *testing.T, f *File, now time.Time, list []Entry) {
	t.Helper()
	if err := f.Replace(t.Context(), now, list); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFormats(t *testing.T) {
	for _, test := range []struct {
		format Format
		want   string
	}{
		{FormatPlain, "198.51.100.0/24\n203.0.113.7\n2001:db8::/64\n2001:db8:1::7\n"},
		{FormatNginx, heading + "deny 198.51.100.0/24;\ndeny 203.0.113.7;\ndeny 2001:db8::/64;\ndeny 2001:db8:1::7;\n"},
		{FormatNginxGeo, heading + "198.51.100.0/24 1;\n203.0.113.7 1;\n2001:db8::/64 1;\n2001:db8:1::7 1;\n"},
		{FormatHAProxy, heading + "198.51.100.0/24\n203.0.113.7\n2001:db8::/64\n2001:db8:1::7\n"},
		{FormatHAProxyMap, heading + "198.51.100.0/24 1\n203.0.113.7 1\n2001:db8::/64 1\n2001:db8:1::7 1\n"},
		{FormatIPSet, heading + `create edgeguard4 hash:net family inet maxelem 4194304 timeout 0 -exist
create edgeguard4_new hash:net family inet maxelem 4194304 timeout 0 -exist
flush edgeguard4_new
add edgeguard4_new 198.51.100.0/24 timeout 91 -exist
add edgeguard4_new 203.0.113.7 timeout 91 -exist
swap edgeguard4_new edgeguard4
destroy edgeguard4_new
create edgeguard6 hash:net family inet6 maxelem 4194304 timeout 0 -exist
create edgeguard6_new hash:net family inet6 maxelem 4194304 timeout 0 -exist
flush edgeguard6_new
add edgeguard6_new 2001:db8::/64 timeout 91 -exist
add edgeguard6_new 2001:db8:1::7 timeout 91 -exist
swap edgeguard6_new edgeguard6
destroy edgeguard6_new
`},
		{FormatNFT, heading + strings.ReplaceAll(nftHead, "NAME", "edgeguard") +
			"add element inet edgeguard blocked4 { 203.0.113.7 timeout 91s }\n" +
			"add element inet edgeguard nets4 { 198.51.100.0/24 timeout 91s }\n" +
			"add element inet edgeguard blocked6 { 2001:db8:1::7 timeout 91s }\n" +
			"add element inet edgeguard nets6 { 2001:db8::/64 timeout 91s }\n"},
	} {
		t.Run(test.format.String(), func(t *testing.T) {
			f := newTestFile(t, FileConfig{Format: test.format})
			replace(t, f, epoch, entries(epoch.Add(90*time.Second+time.Millisecond), mixed...))
			if got := read(t, f.config.Path); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			back, err := ParseFormat(test.format.String())
			if err != nil || back != test.format {
				t.Errorf("ParseFormat: %v, %v", back, err)
			}
		})
	}
}

func TestSecondsLeft(t *testing.T) {
	for _, test := range []struct {
		left time.Duration
		want int64
	}{{time.Nanosecond, 1}, {time.Second, 1}, {time.Second + 1, 2}, {-time.Hour, 1}, {0, 1}, {100 * 365 * 24 * time.Hour, 3153600000}} {
		if got := secondsLeft(epoch, epoch.Add(test.left)); got != test.want {
			t.Errorf("%s: %d, want %d", test.left, got, test.want)
		}
	}
}

// TestWritesOnChangeOnly: what a reader could see decides, and not the clock.
func TestWritesOnChangeOnly(t *testing.T) {
	hour := epoch.Add(time.Hour)
	for _, test := range []struct {
		name    string
		format  Format
		now     time.Time
		entries []Entry
		meddle  func(path string) error
		written bool
	}{
		{"nothing new", FormatNginx, epoch, entries(hour, mixed...), nil, false},
		{"later", FormatNFT, epoch.Add(time.Minute), entries(hour, mixed...), nil, false},
		{"longer, where it does not show", FormatNginx, epoch, entries(hour.Add(1e9), mixed...), nil, false},
		{"longer, where it shows", FormatNFT, epoch, entries(hour.Add(1e9), mixed...), nil, true},
		{"the next day, with timeouts", FormatIPSet, epoch.Add(24 * time.Hour), entries(hour, mixed...), nil, true},
		{"one less", FormatNginx, epoch, entries(hour, mixed[1:]...), nil, true},
		{"another length", FormatNginx, epoch, entries(hour, "198.51.100.0/25", "203.0.113.7/32", "2001:db8::/64", "2001:db8:1::7/128"), nil, true},
		{"removed by someone", FormatNginx, epoch, entries(hour, mixed...), os.Remove, true},
		{"emptied by someone", FormatNginx, epoch, entries(hour, mixed...), func(p string) error { return os.Truncate(p, 0) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			loads := filepath.Join(dir, "loads")
			f := newTestFile(t, FileConfig{Path: filepath.Join(dir, "list"), Format: test.format, Reload: []string{"tee", "-a", loads}})
			replace(t, f, epoch, entries(hour, mixed...))
			before, err := os.Stat(f.config.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(loads); err != nil {
				t.Fatal("the first list must be loaded:", err)
			}
			if test.meddle != nil {
				if err := test.meddle(f.config.Path); err != nil {
					t.Fatal(err)
				}
			}
			replace(t, f, test.now, test.entries)
			after, err := os.Stat(f.config.Path)
			if err != nil {
				t.Fatal(err)
			}
			_, loaded := os.Stat(loads)
			if wrote := !os.SameFile(before, after) || after.ModTime() != before.ModTime(); wrote != test.written || (loaded == nil) != test.written {
				t.Errorf("written %t, loaded %t, want %t", wrote, loaded == nil, test.written)
			}
		})
	}
}

func TestKeepsModeLinkAndFolderClean(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	kept, link := filepath.Join(dir, "real", "list.conf"), filepath.Join(dir, "list.conf")
	temp := filepath.Join(dir, "real", ".list.conf.tmp")
	victim := filepath.Join(dir, "victim")
	for path, text := range map[string]string{kept: "old", victim: "precious"} {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{link: kept, temp: victim} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		if err := os.Chown(kept, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	replace(t, newTestFile(t, FileConfig{Path: link}), epoch, entries(epoch.Add(time.Hour), "192.0.2.1/32"))
	if got := read(t, kept); got != "192.0.2.1\n" {
		t.Errorf("behind the link: %q", got)
	}
	if got := read(t, victim); got != "precious" {
		t.Errorf("a planted link was followed: %q", got)
	}
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; os.Getuid() == 0 && uid != 65534 {
		t.Errorf("owner %d", uid)
	}
	if l, err := os.Lstat(link); err != nil || l.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", l, err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "real")); len(left) != 3 { // the list, its lock, and what was planted
		t.Errorf("left behind: %v", left)
	}
}

// TestReaderSeesNoPart reads as fast as it can while lists of one length each
// are written.
func TestReaderSeesNoPart(t *testing.T) {
	f := newTestFile(t, FileConfig{})
	lists := make([][]Entry, 4)
	for i := range lists {
		for j := range 2000 {
			lists[i] = append(lists[i], entries(epoch.Add(time.Hour), fmt.Sprintf("10.%d.%d.%d/32", i, j/256, j%256))...)
		}
	}
	replace(t, f, epoch, lists[0])
	done := make(chan struct{})
	var reads atomic.Int64
	go func() {
		defer close(done)
		for i := 0; i < 60 || reads.Load() == 0; i++ {
			if err := f.Replace(context.Background(), epoch, lists[i%len(lists)]); err != nil {
				t.Error(err)
			}
		}
	}()
	for ; ; reads.Add(1) {
		select {
		case <-done:
			return
		default:
		}
		text := read(t, f.config.Path)
		first, _, _ := strings.Cut(text, ".0.0\n")
		if strings.Count(text, "\n") != 2000 || strings.Count(text, first+".") != 2000 {
			t.Fatalf("a part: %d lines", strings.Count(text, "\n"))
		}
	}
}

func TestWriteErrorLeavesOldList(t *testing.T) {
	dir := t.TempDir()
	f := newTestFile(t, FileConfig{Path: filepath.Join(dir, "gone", "list")})
	err := f.Replace(t.Context(), epoch, nil)
	if err == nil || !strings.Contains(err.Error(), "gone/list") {
		t.Errorf("error %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "gone"), 0o755); err != nil {
		t.Fatal(err)
	}
	replace(t, f, epoch, nil)
}

func TestReloadFailureIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	flag := filepath.Join(dir, "flag")
	f := newTestFile(t, FileConfig{Path: filepath.Join(dir, "list"), Reload: []string{"ls", "--", flag, "; touch " + filepath.Join(dir, "shell")}})
	list := entries(epoch.Add(time.Hour), "192.0.2.1/32")
	err := f.Replace(t.Context(), epoch, list)
	if err == nil || !strings.Contains(err.Error(), "written but not in force") || !strings.Contains(err.Error(), "No such file") {
		t.Errorf("error %v", err)
	}
	if err := f.Replace(t.Context(), epoch, list); err == nil {
		t.Error("the same list again: a failed reload must be tried again")
	}
	f.config.Reload = []string{"ls", dir}
	replace(t, f, epoch, list)
	f.config.Reload = []string{"false"}
	replace(t, f, epoch, list) // in force already
	if _, err := os.Stat(filepath.Join(dir, "shell")); err == nil {
		t.Error("a shell was started")
	}
}

func TestHangingReloadIsKilledWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	pids := filepath.Join(dir, "pid")
	script := "sleep 1000 & echo $! >" + pids + "; echo wait''ing; wait" // the error names the command, too
	for timeout := 300 * time.Millisecond; ; timeout *= 4 {              // more, where the shell had no time to begin
		f := newTestFile(t, FileConfig{Path: filepath.Join(dir, timeout.String()), Reload: []string{"sh", "-c", script}, Timeout: timeout})
		err := f.Replace(t.Context(), epoch, nil)
		if err == nil || !strings.Contains(err.Error(), "no answer after "+timeout.String()) {
			t.Fatalf("error %v", err)
		}
		if strings.Contains(err.Error(), "waiting") {
			break
		}
		if timeout > time.Minute {
			t.Fatalf("the output is not in the error %v", err)
		}
	}
	child, err := strconv.Atoi(strings.TrimSpace(read(t, pids)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); alive(child); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the command's child %d lives on", child)
		}
	}
}

// alive is false for a process that is gone, or dead and not yet waited for by
// whoever inherited it.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestReloadOutputIsBounded(t *testing.T) {
	f := newTestFile(t, FileConfig{Reload: []string{"sh", "-c", "yes | head -c 10000000; exit 3"}})
	err := f.Replace(t.Context(), epoch, nil)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || len(err.Error()) > 4*keptOutput {
		t.Errorf("error of %d bytes: %.200v", len(err.Error()), err)
	}
}

// TestReloadThatLeavesAChild: a command that is over is over, though a child
// of it keeps its output open.
func TestReloadThatLeavesAChild(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	f := newTestFile(t, FileConfig{Reload: []string{"sh", "-c", "sleep 1000 & echo $! >" + pids}, Timeout: time.Minute})
	replace(t, f, epoch, nil)
	if child, err := strconv.Atoi(strings.TrimSpace(read(t, pids))); err == nil {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

func TestFileConfig(t *testing.T) {
	for _, test := range []struct {
		c    FileConfig
		want string
	}{
		{FileConfig{}, "needs the path"},
		{FileConfig{Path: "l", Format: 99}, "unknown list format 99"},
		{FileConfig{Path: "l", Name: "a; drop"}, "small letter"},
		{FileConfig{Path: "l", Name: strings.Repeat("a", 25)}, "small letter"},
		{FileConfig{Path: "l", Reload: []string{""}}, "command is empty"},
		{FileConfig{Path: "l", Format: FormatHAProxy, Socket: "s", Reload: []string{"a"}}, "not both"},
		{FileConfig{Path: "l", Format: FormatNginx, Socket: "s"}, "use haproxy or haproxy-map"},
		{FileConfig{Path: "a b", Format: FormatHAProxy, Socket: "s"}, "cannot name this path"},
		{FileConfig{Path: "a;b", Format: FormatHAProxy, Socket: "s"}, "cannot name this path"},
		{FileConfig{Path: "#1", Format: FormatHAProxy, Socket: "s"}, "cannot name this path"},
	} {
		if _, err := NewFile(test.c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.c, err, test.want)
		}
	}
	if _, err := ParseFormat("ngnix"); err == nil || !strings.Contains(err.Error(), "nginx-geo") {
		t.Errorf("error %v", err)
	}
}

func TestTraits(t *testing.T) {
	for _, test := range []struct {
		c    FileConfig
		want Traits
	}{
		{FileConfig{Format: FormatNginx, Reload: []string{"nginx"}}, Traits{Every: defaultEveryReload, Takes: 20 * time.Second}},
		{FileConfig{Format: FormatNginx}, Traits{Every: defaultEvery, Takes: 20 * time.Second}},
		{FileConfig{Format: FormatHAProxy, Socket: "s"}, Traits{Every: defaultEvery, Takes: 2 * defaultEvery}},
		{FileConfig{Format: FormatNFT, Reload: []string{"nft"}}, Traits{Kernel: true, Every: defaultEvery, Takes: 2 * defaultEvery}},
		{FileConfig{Format: FormatIPSet, Every: time.Minute}, Traits{Kernel: true, Every: time.Minute, Takes: 2 * time.Minute}},
		{FileConfig{Format: FormatPlain, Kernel: true}, Traits{Kernel: true, Every: defaultEvery, Takes: 20 * time.Second}},
	} {
		test.c.Path = "l"
		f, err := NewFile(test.c)
		if err != nil || f.Traits() != test.want {
			t.Errorf("%+v: %+v, %v", test.c, f.Traits(), err)
		}
	}
}
