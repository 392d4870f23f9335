package lists

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/internal/program"
)

// A folder of names and the list beside it share the blocks: each is in one of them. In mode
// monitor both are empty, at the end of a node both stay, and a folder that left the config
// is emptied.
func TestNames(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "edgeguard") // others may look into it, as into /run
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	folder, file := filepath.Join(dir, "names"), filepath.Join(t.TempDir(), "wide.txt")
	with, without := &config.Config{}, &config.Config{}
	with.Enforce.Names = &config.NamesFolder{Folder: folder, Most: 260}
	with.Enforce.Files = []config.ListFile{{File: file, Format: "plain", Every: time.Millisecond, Wide: true}}
	c := testConfig(t)
	current := with
	c.Current = func() *config.Config { return current }
	add := func(prefix string) edgeguard.Block {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Since: begin, Until: begin.Add(time.Hour)}
		if _, _, err := c.List.Add(b, false, begin); err != nil {
			t.Fatal(err)
		}
		return b
	}
	add("192.0.2.1/32")
	add("198.51.0.0/17")
	e := New(c)
	e.Load()
	e.Settle(t.Context(), with)
	e.AwaitFirst(t.Context())
	have := func(names, list string) bool {
		var found []string
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			if _, err := netip.ParseAddr(entry.Name()); err == nil {
				found = append(found, entry.Name())
			}
		}
		slices.Sort(found)
		text, _ := os.ReadFile(file)
		return strings.Join(found, " ") == names && string(text) == list
	}
	if !have("192.0.2.1", "198.51.0.0/17\n") {
		t.Error("the blocks are not shared after the start")
	}
	e.Changed(add("2001:db8:1::/64"))
	e.Changed(add("2001:db8:2::1/128"))
	const narrow, wide = "192.0.2.1 2001:db8:1:0::", "198.51.0.0/17\n2001:db8:2::1\n"
	program.Eventually(t, "new blocks are shared", func() bool { return have(narrow, wide) })

	program.Eventually(t, "the figures are of each part", func() bool {
		var s admin.Stats
		e.Report(&s)
		return len(s.Enforcers) == 2 && s.Enforcers[0].Name == "names "+folder && s.Enforcers[0].Installed == 2 && s.Enforcers[1].Installed == 2
	})
	for prefix, want := range map[string]string{"192.0.2.1/32": "names " + folder, "198.51.0.0/17": file} {
		if got := e.Refuses()(&edgeguard.Block{Prefix: netip.MustParsePrefix(prefix)}); got != want {
			t.Errorf("%s is refused by %q", prefix, got)
		}
	}

	e.Changed(add("198.51.200.0/24"))
	e.Changed(add("198.51.201.0/24"))
	e.Changed(add("198.51.202.0/24"))
	program.Eventually(t, "what has no room is in the list beside", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Count(string(text), "/24\n") == 2
	})

	monitor := *with
	monitor.Monitor = true
	current = &monitor
	e.Refresh()
	program.Eventually(t, "both are empty in mode monitor", func() bool { return have("", "") })
	current = with
	e.Refresh()
	program.Eventually(t, "both are filled again", func() bool { text, _ := os.ReadFile(file); return strings.HasPrefix(string(text), "198.51.0.0/17\n") })
	e.Stop()
	if have("", "") {
		t.Error("a node that ended took its names along")
	}
	second := New(c)
	second.Load()
	second.Settle(t.Context(), without)
	program.Eventually(t, "what left the config is emptied", func() bool { return have("", "") })
	second.Stop()
}

// An operator's clear empties the folder, and the list beside it, until he resumes, also of a
// node without a packet filter.
func TestNamesPause(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "edgeguard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "names")
	with := &config.Config{}
	with.Enforce.Names = &config.NamesFolder{Folder: folder, Most: 260}
	c := testConfig(t)
	c.Current = func() *config.Config { return with }
	add := func(prefix string) edgeguard.Block {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Since: begin, Until: begin.Add(time.Hour)}
		if _, _, err := c.List.Add(b, false, begin); err != nil {
			t.Fatal(err)
		}
		return b
	}
	has := func(name string) bool { _, err := os.Stat(filepath.Join(folder, name)); return err == nil }
	first := add("192.0.2.1/32")
	e := New(c)
	e.Load()
	e.Settle(t.Context(), with)
	e.AwaitFirst(t.Context())
	if !has("192.0.2.1") || e.Refuses()(&first) == "" {
		t.Fatal("nothing is in force")
	}
	if s, p := e.Filter.Kernel(); p != nil || s.State != admin.KernelInForce || s.Installed != 1 {
		t.Errorf("%+v, %v", s, p)
	}
	if _, p := e.Filter.TryKernel(t.Context(), time.Minute, nil); p == nil {
		t.Error("a trial of a packet filter that is not there")
	}
	if s, p := e.Filter.PauseKernel(t.Context(), "test"); p != nil || s.State != admin.KernelPaused {
		t.Fatalf("%+v, %v", s, p)
	}
	program.Eventually(t, "a pause empties the folder", func() bool { return !has("192.0.2.1") })
	second := add("192.0.2.2/32")
	e.Changed(second)
	e.Refresh()
	if has("192.0.2.2") || e.Refuses()(&second) != "" {
		t.Error("a block is in force in a pause")
	}
	e.Stop()
	e = New(c)
	e.Load()
	e.Settle(t.Context(), with)
	e.AwaitFirst(t.Context())
	if has("192.0.2.1") {
		t.Error("a restart ends the pause")
	}
	if _, p := e.Filter.ResumeKernel(); p != nil {
		t.Fatal(p)
	}
	program.Eventually(t, "both are in force again", func() bool { return has("192.0.2.1") && has("192.0.2.2") })
	e.Stop()
}
