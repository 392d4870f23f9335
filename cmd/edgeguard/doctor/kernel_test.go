package doctor

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
)

// What would keep the kernel from dropping, or an operator out, is found.
func TestPacketFilter(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := new(config.Config)
	look := func(u *Unit) (all string) {
		x := &examination{unit: u}
		x.packetFilter(c, root)
		for _, f := range x.findings {
			all += fmt.Sprintf("%v %s\n", f.Severity, f.Text)
		}
		return all
	}
	if got := look(&Unit{}); got != "" {
		t.Errorf("without a packet filter: %s", got)
	}
	c.Enforce.NFTables = &config.NFTables{Table: "edge", SparePorts: []uint16{22}}
	if got := look(&Unit{UID: 7, Rights: "CAP_NET_ADMIN"}); got != "ok the node may change it\nok blocked addresses can still connect to ssh's port\n" {
		t.Errorf("as it should be: %s", got)
	}
	c.Monitor, c.TrustedProxies = true, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("127.0.0.0/8")}
	c.Enforce.NFTables.DryRun, c.Enforce.NFTables.SparePorts = true, []uint16{2222}
	write("etc/ufw/ufw.conf", "# comment\nENABLED=yes\n")
	write("run/firewalld/x", "")
	write("sys/class/net/docker0/x", "")
	got := look(&Unit{UID: 7})
	for _, want := range []string{
		"the table edge stays empty", "dry_run: ", "lacks the right CAP_NET_ADMIN", "cannot connect to ssh", "clients behind 192.0.2.0/24 are never", "beside ufw", "beside firewalld", "beside Docker",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
	write("etc/ufw/ufw.conf", "ENABLED=no\n")
	if got := look(&Unit{UID: 0}); strings.Contains(got, "ufw") || strings.Contains(got, "lacks") {
		t.Errorf("ufw is off, and the node is root's:\n%s", got)
	}
}

func TestHasRight(t *testing.T) {
	for status, want := range map[string]bool{
		"CapInh:\t0\nCapEff:\t0000000000000000\nCapBnd:\t1": false, "CapEff:\t0000000000001000\n": true, "CapEff:\t000001ffffffffff\n": true, "CapEff:\t0000000000000fff\n": false, "": true,
	} {
		if hasRight(status, netAdmin) != want {
			t.Errorf("%q: %v", status, !want)
		}
	}
	if only := "CapEff:\t0000000000002000\n"; hasRight(only, netAdmin) || !hasRight(only, netRaw) {
		t.Error("CAP_NET_RAW is not told from CAP_NET_ADMIN")
	}
}

func TestInterfaces(t *testing.T) {
	c := new(config.Config)
	look := func(u *Unit) (all string) {
		x := &examination{unit: u}
		x.interfaces(c)
		for _, f := range x.findings {
			all += fmt.Sprintf("%v %s\n", f.Severity, f.Text)
		}
		return all
	}
	if got := look(&Unit{}); got != "" {
		t.Errorf("without packets: %s", got)
	}
	c.Sensors.Packet = &config.Packet{Interfaces: []string{"lo", "none0"}}
	if got := look(&Unit{UID: 7, Rights: "CAP_NET_RAW"}); !strings.Contains(got, "the interface lo is") || !strings.Contains(got, "there is no interface none0") || strings.Contains(got, "lacks") {
		t.Errorf("with the right: %s", got)
	}
	if got := look(&Unit{UID: 7, Rights: "CAP_NET_ADMIN"}); !strings.Contains(got, "lacks the right CAP_NET_RAW: edgeguard snippets packet") {
		t.Errorf("without the right: %s", got)
	}
}
