package recipes

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/enforce"
)

// copying is the command by which a recipe's service copies a list, and where.
type copying struct {
	t          *testing.T
	argv       []string
	list, copy string
}

// newCopying returns that of a recipe, which waits for a list as long as a shell's
// timeout says.
func newCopying(t *testing.T, name, list, copy, limit string) *copying {
	t.Helper()
	r := newRecipe(t, name)
	place := filepath.Dir(copy)
	r.swaps = []string{place + "/", r.dir + "/", "timeout 60 head", "timeout " + limit + " head"}
	for _, line := range value(r.part("service"), "ExecStart=") {
		if strings.Contains(line, "grep") {
			return &copying{t, argv(line), filepath.Join(r.values.State, list), r.node.Path(filepath.Base(copy))}
		}
	}
	t.Fatal("the service copies nothing")
	return nil
}

// run copies the list; what was there before is kept where the list is refused.
func (c *copying) run() (copied, said string, err error) {
	c.t.Helper()
	if err := os.WriteFile(c.copy, []byte("before"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	out, failed := exec.Command(c.argv[0], c.argv[1:]...).CombinedOutput()
	text, err := os.ReadFile(c.copy)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text), string(out), failed
}

// lists are the recipes of which root loads the list, with the format, the list, the
// copy, and a line that must not be loaded.
var lists = map[string][4]string{
	"nft":        {"nft", "edgeguard.nft", "/run/edgeguard-nft/list", "flush ruleset"},
	"ipset":      {"ipset", "edgeguard.ipset", "/run/edgeguard-ipset/list", "destroy"},
	"nginx-deny": {"nginx", "nginx-deny.conf", "/var/lib/edgeguard-nginx/deny.conf", "access_log /etc/cron.d/x;"},
	"plain":      {"plain", "blocked.txt", "/run/edgeguard-plain/list", "$(id)"},
}

// Each list that edgeguard writes is copied as it is.
func TestListsAreCopied(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	var entries []enforce.Entry
	for i := range 3000 {
		for _, text := range []string{"192.0.%d.%d", "10.%d.%d.0/24", "2001:db8:%x::%x", "2001:db8:1%04x:%x::/64"} {
			text = fmt.Sprintf(text, i/250, i%250)
			p, err := netip.ParsePrefix(text)
			if !strings.Contains(text, "/") {
				var a netip.Addr
				a, err = netip.ParseAddr(text)
				p = netip.PrefixFrom(a, a.BitLen())
			}
			if err != nil {
				continue // of 1%04x
			}
			entries = append(entries, enforce.Entry{Prefix: p, Until: begin.Add(time.Hour)})
		}
	}
	for name, l := range lists {
		c := newCopying(t, name, l[1], l[2], "60")
		format, err := enforce.ParseFormat(l[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, some := range [][]enforce.Entry{nil, entries[:1], entries} {
			f, err := enforce.NewFile(enforce.FileConfig{Path: c.list, Format: format, Name: "edgeguard"})
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Replace(t.Context(), begin, some); err != nil {
				t.Fatal(err)
			}
			f.Close()
			want, err := os.ReadFile(c.list)
			if err != nil {
				t.Fatal(err)
			}
			if got, said, err := c.run(); err != nil || got != string(want) {
				t.Errorf("%s of %d: %v, %s, %d bytes of %d", name, len(some), err, said, len(got), len(want))
			}
		}
	}
}

// What who has taken over edgeguard's user puts in the list's place is not loaded, shown,
// or waited for.
func TestHostileListsAreNotCopied(t *testing.T) {
	for name, l := range lists {
		c := newCopying(t, name, l[1], l[2], "60")
		secret := c.copy + ".secret"
		if err := os.WriteFile(secret, []byte("root:$6$secret:1:\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, put func() error) {
			t.Helper()
			_ = os.Remove(c.list) // of the case before
			if err := put(); err != nil {
				t.Fatal(err)
			}
			if got, said, err := c.run(); err == nil || got != "before" || strings.Contains(said, "secret:") || !strings.Contains(said, "is not loaded") {
				t.Errorf("%s: %s: %v, %q, %q", name, what, err, said, got)
			}
		}
		for _, line := range []string{l[3], `include "/etc/shadow"`, "include /etc/shadow;", "deny all;} x {", "# x\\", "# x;\r", "add element inet other blocked4 { 192.0.2.1 timeout 1s }", "add other 192.0.2.1 timeout 1 -exist",
			"deny 192.0.2.1; deny 192.0.2.2;", "192.0.2.1 timeout 1s } ; flush ruleset", "\x00", "\xff", "delete table inet filter"} {
			refused(line, func() error { return os.WriteFile(c.list, []byte(line), 0o644) })
			refused(line, func() error { return os.WriteFile(c.list, []byte("# x\n"+line+"\n# x\n"), 0o644) })
		}
		refused("a link", func() error { return os.Symlink(secret, c.list) })
		refused("a folder", func() error { return os.Mkdir(c.list, 0o755) })
		refused("nothing", func() error { return nil })
		c = newCopying(t, name, l[1], l[2], "0.1")
		refused("a pipe", func() error { return syscall.Mkfifo(c.list, 0o644) })
	}
}
