package node

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/blocklist/imported"
	"edgeguard/internal/redistest"
)

func (u *underTest) imports(source string, lasts time.Duration, prefixes ...string) imported.Outcome {
	now := u.clock.Now()
	var entries []imported.Entry
	for _, p := range prefixes {
		entries = append(entries, imported.Entry{Prefix: netip.MustParsePrefix(p), Until: now.Add(lasts), Reason: "listed"})
	}
	return u.Node.imports.Set.Replace(source, entries, now)
}

// denied reports whether a request of the address is refused.
func (u *underTest) denied(addr string) bool { return u.request(addr).Action == edgeguard.ActionDeny }

// Imported blocks are in force on this node and in its lists, and nowhere else: not in the
// fleet, not after a restart. An allowance wins immediately. A list cannot block the node's
// own addresses.
func TestImported(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/deny.conf"
	config := fleetOfTwo + "\nenforce: {files: [{file: " + file + ", format: plain, every: 1s}]}\n"
	a, b := startFleetOf(t, redistest.Start(t, redistest.Options{}), config, fleetOfTwo)
	enforced := func(want ...string) func() bool {
		return func() bool {
			text, _ := os.ReadFile(file)
			return strings.Join(strings.Fields(string(text)), " ") == strings.Join(want, " ")
		}
	}
	o := a.imports("drop", time.Hour, "127.0.0.1/32", "0.0.0.0/0", "::/0", "10.0.0.0/8", "203.0.113.9/32", "198.51.100.0/24")
	if o.InForce != 2 || o.Protected != 1 || o.TooWide != 3 {
		t.Errorf("%+v", o)
	}
	if !a.denied("203.0.113.9") || !a.denied("198.51.100.3") || a.denied("127.0.0.1") || b.denied("203.0.113.9") {
		t.Error("not as imported")
	}
	if f := a.view().Figures(a.view().Now(), watch.Key{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Slots: 1}); f.Until.IsZero() {
		t.Error("a page that moves shows an imported block as ended")
	}
	a.eventually("the list has them", enforced("198.51.100.0/24", "203.0.113.9"))
	a.allow("203.0.113.9/32", time.Hour)
	if a.denied("203.0.113.9") {
		t.Error("an allowed address is refused")
	}
	a.eventually("the list has not what is allowed", enforced("198.51.100.0/24"))
	a.disallow("203.0.113.9/32")
	a.eventually("the list has it again", enforced("198.51.100.0/24", "203.0.113.9"))
	a.imports("drop", time.Hour, "203.0.113.9/32")
	a.eventually("the list has not what was lifted", enforced("203.0.113.9"))
	pass(2, a, b)
	if b.standing("203.0.113.9") != nil || a.list.Len() != 0 {
		t.Error("an imported block is on another list")
	}
}

// Housekeeping sweeps imported blocks, and a reload changes how many there may be.
func TestImportedEnd(t *testing.T) {
	t.Parallel()
	u := newNode(t, t.TempDir(), "listen: {auth: [\"unix:$DIR/auth.sock\"], admin: [\"unix:$DIR/admin.sock\"]}\nmax_imported: 1000\n").start()
	u.imports("drop", time.Nanosecond, "203.0.113.9/32")
	u.eventually("it has ended", func() bool { return u.Node.imports.Set.Empty() })
	if u.Node.imports.Set.Room() > 1000 {
		t.Error(u.Node.imports.Set.Room())
	}
	u.yaml = strings.Replace(u.yaml, "1000", "2000", 1)
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	if n := u.Node.imports.Set.Room(); n < 1999 {
		t.Errorf("room for %d after a reload", n)
	}
}
