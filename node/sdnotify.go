package node

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// notifier tells systemd how the node is: sd_notify(3). The zero value, where
// nobody asked to be told, tells nobody.
type notifier struct {
	address  string
	watchdog time.Duration // how often it wants to hear; 0: not at all
}

// newNotifier reads what systemd put into the environment.
func newNotifier(getenv func(string) string) notifier {
	n := notifier{address: getenv("NOTIFY_SOCKET")}
	pid := getenv("WATCHDOG_PID")
	if pid == "" || pid == strconv.Itoa(os.Getpid()) {
		usec, _ := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
		n.watchdog = time.Duration(usec) * time.Microsecond / 2
	}
	return n
}

// tell sends one message. Nobody acts on an error: the node serves its users,
// whether systemd hears of it or not.
func (n notifier) tell(state string) {
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

// ready says that the node answers, and in a line what it does.
func (n notifier) ready(status string) { n.tell("READY=1\nSTATUS=" + status) }

// reloading begins a reload; ready ends it. systemd wants to know when, by the
// clock that never steps (Type=notify-reload).
func (n notifier) reloading() {
	n.tell(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic()))
}

func (n notifier) stopping() { n.tell("STOPPING=1") }
func (n notifier) alive()    { n.tell("WATCHDOG=1") }
