package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What systemctl show prints, and what the unit's own file says, name the same account.
func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"systemctl show": "LoadState=loaded\nActiveState=activating\nUser=root\nGroup=root\nSupplementaryGroups=adm daemon\nRuntimeDirectory=edgeguard\nStateDirectory=edgeguard more\nExecStart={ path=/usr/bin/edgeguard ; argv[]=/usr/bin/edgeguard serve --config /etc/edgeguard/edgeguard.yaml ; }\n",
		"files":          "[Service]\nUser=root\nGroup=root\nSupplementaryGroups=adm\nRuntimeDirectory=edgeguard\nStateDirectory=edgeguard\nStateDirectory=more\nActiveState=active\nExecStart=/usr/bin/edgeguard serve --config /etc/edgeguard/edgeguard.yaml\n[Service]\nSupplementaryGroups=daemon\nLoadState=loaded\n",
	} {
		u, err := parseUnit(text)
		if err != nil || !u.Found || !u.Active || u.User != "root" || u.UID != 0 || u.GID != 0 || !strings.Contains(u.Command, "--config /etc/edgeguard/edgeguard.yaml") {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
		for _, group := range []string{"root", "adm", "daemon"} {
			if !slices.Contains(u.Groups, group) {
				t.Errorf("%s: no group %s in %v", name, group, u.Groups)
			}
		}
		if !slices.Equal(u.Folders, []string{"/run/edgeguard", "/var/lib/edgeguard", "/var/lib/more"}) || len(u.Groups) != len(u.GIDs) {
			t.Errorf("%s: %v, %v", name, u.Folders, u.GIDs)
		}
	}
	if u, err := parseUnit("LoadState=not-found\nActiveState=inactive\n"); err != nil || u.Found {
		t.Errorf("%+v, %v", u, err)
	}
	for _, text := range []string{"LoadState=loaded\nUser=no-such-user-here\n", "LoadState=loaded\nUser=root\nSupplementaryGroups=no-such-group-here\n"} {
		if _, err := parseUnit(text); err == nil || !strings.Contains(err.Error(), "run systemd-sysusers") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The right to change the packet filter is found as systemd and as files write it.
func TestNetAdmin(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "AmbientCapabilities=": false, "AmbientCapabilities=cap_net_admin\n": true, "AmbientCapabilities=\nAmbientCapabilities=CAP_CHOWN CAP_NET_ADMIN": true,
		"AmbientCapabilities=CAP_NET_ADMIN\nAmbientCapabilities=": false, "CapabilityBoundingSet=CAP_NET_ADMIN": false,
	} {
		if u, err := parseUnit("LoadState=loaded\nUser=root\n" + text); err != nil || strings.Contains(u.Rights, netAdmin.name) != want {
			t.Errorf("%q: %+v, %v", text, u, err)
		}
	}
}

// Where systemd does not run, the unit's files say it, drop-ins included.
func TestFromFiles(t *testing.T) {
	etc, lib := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if u, err := fromFiles([]string{etc, lib}); err != nil || u.Found {
		t.Errorf("%+v, %v", u, err)
	}
	write(filepath.Join(lib, UnitName), "[Service]\nUser=root\nSupplementaryGroups=adm\n")
	write(filepath.Join(etc, UnitName+".d", "setup.conf"), "[Service]\nSupplementaryGroups=daemon\n")
	u, err := fromFiles([]string{etc, lib})
	if err != nil || !u.Found || u.Active || !slices.Contains(u.Groups, "adm") || !slices.Contains(u.Groups, "daemon") {
		t.Errorf("%+v, %v", u, err)
	}
}
