package node

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// notifier reports the node's state to systemd: sd_notify(3). The zero value
// sends nothing.
type notifier struct {
	address  string
	watchdog time.Duration // how often to report; 0: never
}

// newNotifier returns the notifier that the environment asks for.
func newNotifier(getenv func(string) string) notifier {
	n := notifier{address: getenv("NOTIFY_SOCKET")}
	pid := getenv("WATCHDOG_PID")
	if pid == "" || pid == strconv.Itoa(os.Getpid()) {
		usec, _ := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
		n.watchdog = time.Duration(usec) * time.Microsecond / 2
	}
	return n
}

// send sends one message. Errors are ignored: the node works without systemd.
func (n notifier) send(state string) {
	if n.address == "" {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.address, Net: "unixgram"})
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = c.Write([]byte(state))
}

// ready reports that the node answers, and its status line.
func (n notifier) ready(status string) { n.send("READY=1\nSTATUS=" + status) }

// reloading begins a reload; ready ends it. systemd requires the time of the
// monotonic clock (Type=notify-reload).
func (n notifier) reloading() {
	n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic()))
}

func (n notifier) stopping() { n.send("STOPPING=1") }
func (n notifier) alive()    { n.send("WATCHDOG=1") }
