package main

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/enforce"
	"edgeguard/enforce/cloud/cloudtest"
)

var (
	begin   = time.Unix(1_700_000_000, 0)
	blocked = netip.MustParsePrefix("192.0.2.7/32")
)

// endedHost is a folder with the lists and the record of a node that has ended.
type endedHost struct {
	dir            string
	stdout, stderr bytes.Buffer
}

// path returns a file's place in the host.
func (h *endedHost) path(name string) string { return filepath.Join(h.dir, name) }

// write writes a file and returns its place.
func (h *endedHost) write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(h.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return h.path(name)
}

// holds fails unless a file has the text.
func (h *endedHost) holds(t *testing.T, name, text string) {
	t.Helper()
	if got, err := os.ReadFile(h.path(name)); err != nil || !strings.Contains(string(got), text) {
		t.Errorf("%s: %q, %v; want %q", name, got, err, text)
	}
}

// lacks fails unless a file is there without the text.
func (h *endedHost) lacks(t *testing.T, name, text string) {
	t.Helper()
	if got, err := os.ReadFile(h.path(name)); err != nil || strings.Contains(string(got), text) {
		t.Errorf("%s: %q, %v; want it without %q", name, got, err, text)
	}
}

// own writes a list with 192.0.2.7 on it and returns what the record says of it.
func (h *endedHost) own(t *testing.T, name string, keep bool, reload ...string) enforce.Owned {
	t.Helper()
	h.write(t, name, "192.0.2.7\n")
	return enforce.NewOwned(enforce.FileConfig{Path: h.path(name), Format: enforce.FormatPlain, Reload: reload}, keep)
}

// record writes the node's record of lists.
func (h *endedHost) record(t *testing.T, owned ...enforce.Owned) {
	t.Helper()
	if err := enforce.SaveOwned(h.path(enforce.OwnedName), owned); err != nil {
		t.Fatal(err)
	}
}

// empty runs the command with a config file; "" is none.
func (h *endedHost) empty(t *testing.T, config string, flags ...string) error {
	t.Helper()
	c := enforceCommand(&command.Env{Stdout: &h.stdout, Stderr: &h.stderr})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{"empty", "--config", config}, flags...))
	err := c.ExecuteContext(t.Context())
	t.Logf("%s%s%v", h.stdout.String(), h.stderr.String(), err)
	return err
}

func newEndedHost(t *testing.T) *endedHost {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &endedHost{dir: dir}
}

// Lists of the config and lists that left it are emptied and stay as files. One
// that is to be kept is kept, and a file that has become another program's is left.
func TestListsEmpty(t *testing.T) {
	h := newEndedHost(t)
	h.own(t, "now", false)
	foreign := h.own(t, "foreign", false)
	h.record(t, h.own(t, "before", false), h.own(t, "kept", true), foreign)
	h.write(t, "foreign", "this is somebody's text about 192.0.2.7\n")
	file := h.write(t, "edgeguard.yaml", "state: "+h.dir+"\nenforce: {files: [{file: "+h.path("now")+", format: plain}]}\n")
	if err := h.empty(t, file); err == nil {
		t.Error("no error, with a list that is left")
	}
	for _, name := range []string{"now", "before"} {
		h.lacks(t, name, "192.0.2.7")
	}
	h.holds(t, "kept", "192.0.2.7")
	h.holds(t, "foreign", "192.0.2.7")
	for _, want := range []string{"emptied " + h.path("now") + "\n", "emptied " + h.path("before") + "\n", "kept " + h.path("kept") + ":", "left " + h.path("foreign") + ":"} {
		if !strings.Contains(h.stdout.String(), want) {
			t.Errorf("no %q in the output", want)
		}
	}
}

// A config with an error is said, and the lists on record are emptied.
func TestListsEmptyBadConfig(t *testing.T) {
	h := newEndedHost(t)
	h.record(t, h.own(t, "list", false))
	file := h.write(t, "edgeguard.yaml", "mode: [\n")
	if err := h.empty(t, file, "--state", h.dir); err == nil {
		t.Error("no error, with a config that cannot be read")
	}
	h.lacks(t, "list", "192.0.2.7")
	if !strings.Contains(h.stderr.String(), "the config cannot be read") || !strings.Contains(h.stderr.String(), h.dir) {
		t.Errorf("stderr: %s", h.stderr.String())
	}
}

// A list whose reload fails is empty, and is said to be in force elsewhere.
func TestListsEmptyReloadFails(t *testing.T) {
	h := newEndedHost(t)
	h.record(t, h.own(t, "list", false, "/bin/false"))
	if err := h.empty(t, "", "--state", h.dir); err == nil {
		t.Error("no error, with a reload that failed")
	}
	h.lacks(t, "list", "192.0.2.7")
	if !strings.Contains(h.stdout.String(), "emptied "+h.path("list")) || !strings.Contains(h.stderr.String(), "reload the program") {
		t.Error("it does not say both")
	}
}

// The lists of a node that runs are left alone.
func TestListsEmptyRunning(t *testing.T) {
	h := newEndedHost(t)
	owned := h.own(t, "list", false)
	h.record(t, owned)
	f, err := enforce.NewFile(enforce.FileConfig{Path: owned.Path, Format: enforce.FormatPlain})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Replace(t.Context(), begin, []enforce.Entry{{Prefix: blocked, Until: begin.AddDate(1, 0, 0)}}); err != nil {
		t.Fatal(err)
	}
	if err := h.empty(t, "", "--state", h.dir); err == nil {
		t.Error("no error, with a list in use")
	}
	h.holds(t, "list", "192.0.2.7")
}

// A damaged record is an error that says so, and no reason to leave the config's lists.
func TestListsEmptyBadRecord(t *testing.T) {
	h := newEndedHost(t)
	h.own(t, "list", false)
	h.write(t, enforce.OwnedName, "damaged")
	file := h.write(t, "edgeguard.yaml", "state: "+h.dir+"\nenforce: {files: [{file: "+h.path("list")+", format: plain}]}\n")
	if err := h.empty(t, file); err == nil {
		t.Error("no error, with a damaged record")
	}
	h.lacks(t, "list", "192.0.2.7")
}

// Where there is nothing, nothing is done, and it is no error.
func TestListsEmptyNothing(t *testing.T) {
	h := newEndedHost(t)
	owned := h.own(t, "list", false)
	h.record(t, owned)
	if err := os.Remove(owned.Path); err != nil {
		t.Fatal(err)
	}
	if err := h.empty(t, "", "--state", h.dir); err != nil || h.stdout.Len()+h.stderr.Len() > 0 {
		t.Error("a list that is not there: ", err)
	}
	if err := h.empty(t, "", "--state", h.path("none")); err != nil || h.stdout.Len()+h.stderr.Len() > 0 {
		t.Error(errors.Join(err, errors.New(h.stdout.String()+h.stderr.String())))
	}
}

// Root has deleted the kernel's tables, and the user that serves may not look: they are
// passed over, and the other lists are emptied.
func TestListsEmptyNoTables(t *testing.T) {
	h := newEndedHost(t)
	table := enforce.Owned{Path: "nftables edgeguard", File: "nftables edgeguard", Format: "nftables", Name: "edgeguard"}
	h.record(t, table, h.own(t, "list", false))
	if err := h.empty(t, "", "--state", h.dir, "--no-tables"); err != nil || h.stdout.String() != "emptied "+h.path("list")+"\n" || h.stderr.Len() > 0 {
		t.Errorf("%v: %s%s", err, h.stdout.String(), h.stderr.String())
	}
	h.lacks(t, "list", "192.0.2.7")
}

// A list that a fleet shares is left to the other nodes, unless --shared says that there
// are none; one of a node alone is emptied.
func TestListsEmptyCloud(t *testing.T) {
	server := cloudtest.NewCloudflare(t)
	h := newEndedHost(t)
	token := h.write(t, "token", cloudtest.Token)
	text := "state: " + h.dir + "\nenforce: {cloudflare: {account: " + cloudtest.Account + ", list: " + cloudtest.List + ", token_file: " + token + ", endpoint: '" + server.URL + "'}}\n"
	fleet := h.write(t, "fleet.yaml", text+"fleet: {redis: 'redis://127.0.0.1:1'}\n")
	alone := h.write(t, "alone.yaml", text)
	for _, one := range []struct {
		config, says string
		flags        []string
		items        int
	}{{fleet, "kept cloudflare " + cloudtest.List + ": other nodes", nil, 2}, {fleet, "emptied cloudflare", []string{"--shared"}, 1}, {alone, "emptied cloudflare", nil, 1}} {
		h.stdout.Reset()
		server.Put("192.0.2.1", "edgeguard")
		server.Put("203.0.113.1", "another's")
		if err := h.empty(t, one.config, one.flags...); err != nil {
			t.Error(err)
		}
		if !strings.Contains(h.stdout.String(), one.says) || len(server.Items()) != one.items {
			t.Errorf("%s: %v, want %q", h.stdout.String(), server.Items(), one.says)
		}
	}
}
