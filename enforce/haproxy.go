package enforce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"time"

	"edgeguard/internal/unixsocket"
)

const (
	// haproxyLine is the longest line sent: HAProxy takes one of its buffers
	// (tune.bufsize, 16 KiB by default) at most.
	haproxyLine = 8 << 10
	// haproxyAnswer bounds what is read of an answer.
	haproxyAnswer = 64 << 10
)

// haproxy replaces an ACL or a map through the stats socket. Each line of
// commands is one connection each, as HAProxy's manual has it for
// programs: the prompt mode that would spare them differs between versions.
type haproxy struct {
	socket string
	id     string // the file's path, as in haproxy.cfg
	kind   string // "acl" or "map"
	value  string // what follows a prefix: " 1" in a map
}

// replace fills a new version of the list and commits it: requests see the
// old list or the new one. A version that cannot be filled is dropped.
func (h haproxy) replace(ctx context.Context, entries []Entry) error {
	answer, err := h.askSocket(ctx, "prepare "+h.kind+" "+h.id)
	if err != nil {
		return err
	}
	version, ok := strings.CutPrefix(answer, "New version created: ")
	if !ok || strings.Trim(version, "0123456789") != "" {
		return h.refused("prepare", answer)
	}
	if err := h.fill(ctx, version, entries); err != nil {
		// The context may have ended: the clean-up has its own deadline.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = h.askSocket(ctx, "clear "+h.kind+" @"+version+" "+h.id)
		return err
	}
	return nil
}

func (h haproxy) fill(ctx context.Context, version string, entries []Entry) error {
	add := "add " + h.kind + " @" + version + " " + h.id + " "
	var line strings.Builder
	send := func() error {
		if line.Len() == 0 {
			return nil
		}
		err := h.tell(ctx, "add", line.String())
		line.Reset()
		return err
	}
	for _, e := range entries {
		if line.Len() > 0 {
			line.WriteByte(';')
		}
		line.WriteString(add)
		line.WriteString(prefixText(e.Prefix))
		line.WriteString(h.value)
		if line.Len() > haproxyLine-len(add)-64 {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if err := send(); err != nil {
		return err
	}
	return h.tell(ctx, "commit", "commit "+h.kind+" @"+version+" "+h.id)
}

// tell sends a line that is answered by silence if all is well.
func (h haproxy) tell(ctx context.Context, what, line string) error {
	answer, err := h.askSocket(ctx, line)
	if err == nil && answer != "" {
		err = h.refused(what, answer)
	}
	return err
}

func (h haproxy) refused(what, answer string) error {
	first, _, _ := strings.Cut(answer, "\n")
	return fmt.Errorf("haproxy at %s: %s %s %s: it answered %.200q "+
		"(haproxy.cfg must use exactly this path)", h.socket, what, h.kind, h.id, first)
}

// askSocket sends one line and returns the answer without the space around it.
func (h haproxy) askSocket(ctx context.Context, line string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", h.socket)
	if errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("haproxy: %w: %s", err, unixsocket.Join(h.socket))
	}
	if err != nil {
		return "", fmt.Errorf("haproxy: %w", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if _, err = io.WriteString(c, line+"\n"); err == nil {
		var answer []byte
		if answer, err = io.ReadAll(io.LimitReader(c, haproxyAnswer)); err == nil {
			return string(bytes.TrimSpace(answer)), nil
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return "", fmt.Errorf("haproxy at %s: %w", h.socket, err)
}
