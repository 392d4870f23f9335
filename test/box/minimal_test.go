package box

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// packages are what a box has beside the smallest Debian: systemd, and what
// edgeguard is put beside.
var packages = []string{
	"systemd-sysv", "dbus", "iproute2", "procps", "sudo", "curl", "openssl", "ca-certificates", "logrotate", "man-db",
	"nginx-light", "haproxy", "caddy", "apache2", "ipset", "iptables", "nftables", "rsyslog", "fail2ban",
}

// configure is run in the new system. Its servers listen on the same port: each
// scenario starts its own.
const configure = `systemctl --quiet disable nginx haproxy caddy apache2 fail2ban console-getty.service \
	apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer man-db.timer 2>/dev/null || true
printf '127.0.0.1 localhost\n127.0.1.1 box\n::1 localhost\n' >/etc/hosts
echo box >/etc/hostname
: >/etc/resolv.conf`

// minimal returns the folder of a minimal Debian. It takes minutes to install, so
// it is kept in the user's cache folder until what is installed changes.
func minimal(t *testing.T, ctx context.Context) string {
	t.Helper()
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	what := strings.Join(packages, ",")
	root := filepath.Join(caches, "edgeguard-box", fmt.Sprintf("%.8x", sha256.Sum256([]byte(what+configure))))
	if _, err := os.Stat(root); err == nil {
		t.Logf("a minimal Debian: %s, from an earlier run", root)
		return root
	}
	begun := time.Now()
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	half, err := os.MkdirTemp(filepath.Dir(root), "unfinished-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(half) }() // it is another name by then, if all went well
	install := in(ctx, "sh", "-euc", `mount --make-rprivate /
		debootstrap --variant=minbase --include="$1" bookworm "$0"
		chmod 755 "$0"
		chroot "$0" sh -euc "$2"
		rm -rf "$0"/var/cache/apt/archives/*.deb "$0"/var/lib/apt/lists/*`, half, what, configure)
	// The namespace for the network is for boxes: this one downloads.
	install.SysProcAttr.Cloneflags &^= netNamespace
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("debootstrap: %v\n%s", err, tail(string(out), 20))
	}
	if err := os.Rename(half, root); err != nil {
		t.Fatal(err)
	}
	t.Logf("a minimal Debian: %s, installed in %.0f s", root, time.Since(begun).Seconds())
	return root
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
