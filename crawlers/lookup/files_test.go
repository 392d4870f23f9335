package lookup

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/crawlers"
)

// Files are read again when they change. One that is bad is an error that names it,
// and the addresses that were read before stay in force.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	one, two := filepath.Join(folder, "one.json"), filepath.Join(folder, "two.json")
	c, err := crawlers.New([]crawlers.Spec{{Name: "googlebot", Agents: []string{"Googlebot"}, Ranges: []string{one, two}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second) // a file system may keep whole seconds
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	who := func(addr string) string {
		ev := edgeguard.Event{Addr: netip.MustParseAddr(addr), Agent: "Googlebot", Known: edgeguard.FieldAgent}
		c.MarkClient(at, &ev)
		return ev.Crawler
	}
	files := NewFiles(c)
	read := func(changed int, wrong string) {
		t.Helper()
		got, errs := files.Read()
		err := errs["googlebot"]
		if len(got) != changed || (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("changed %q, errors %v; want %d and %q", got, errs, changed, wrong)
		}
	}
	read(0, "one.json")
	if got := who("192.0.2.1"); got != "unknown" {
		t.Errorf("without files: %s", got)
	}
	write(one, `{"prefixes":[{"ipv4Prefix":"192.0.2.0/28"}]}`)
	read(0, "two.json")
	write(two, `{"prefixes":[{"ipv6Prefix":"2001:db8::/64"}]}`)
	read(1, "")
	read(0, "")
	for addr, want := range map[string]string{"192.0.2.1": "verified googlebot", "2001:db8::1": "verified googlebot", "192.0.2.16": "impostor"} {
		if got := who(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	for _, bad := range []string{"", "<html>", `{"prefixes":[]}`, `{"prefixes":[{"ipv4Prefix":"0.0.0.0/0"}]}`} {
		write(one, bad)
		read(0, "one.json: ")
		read(0, "one.json: ") // still
		if who("192.0.2.1") != "verified googlebot" || who("192.0.2.16") != "impostor" {
			t.Errorf("%q took effect", bad)
		}
	}
	write(one, `{"prefixes":[{"ipv4Prefix":"192.0.2.16/28"}]}`)
	read(1, "")
	if who("192.0.2.1") != "impostor" || who("192.0.2.16") != "verified googlebot" {
		t.Error("the new file is not in force")
	}
	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	read(0, "two.json")
	if who("2001:db8::1") != "verified googlebot" {
		t.Error("what was removed took effect")
	}
}

// What is no file, or has no end, is not read.
func TestFilesThatAreNone(t *testing.T) {
	folder := t.TempDir()
	pipe, large := filepath.Join(folder, "pipe"), filepath.Join(folder, "large")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipe: %v", err)
	}
	if err := os.WriteFile(large, make([]byte, crawlers.MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{pipe: "is not a file", folder: "is not a file", "/dev/zero": "is not a file", large: "larger than"} {
		if _, err := readFile(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
