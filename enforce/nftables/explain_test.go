//go:build linux

package nftables

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What the kernel refuses by a number is explained with what to do, and keeps its number.
func TestExplain(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		unix.EPERM: "CAP_NET_ADMIN", unix.EOPNOTSUPP: "modprobe nf_tables", unix.EPROTONOSUPPORT: "modprobe nf_tables",
		unix.EMSGSIZE: "too long", unix.EBUSY: "busy",
	} {
		got := explain(fmt.Errorf("receive: %w", err))
		if !errors.Is(got, err) || !strings.Contains(got.Error(), want) {
			t.Errorf("%v", got)
		}
	}
	if explain(nil) != nil {
		t.Error("no error is explained")
	}
}
