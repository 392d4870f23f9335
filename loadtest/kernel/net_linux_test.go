package kernel

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

const (
	patience = time.Minute
	host     = "192.0.2.1" // the address of the site
	clients  = 250         // of 198.51.100.0/24
)

// client returns the address of a client.
func client(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(n + 1)}) }

// network is a network namespace.
type network struct {
	b   *testing.B
	pid string
	fd  int
}

func newNetwork(b *testing.B) *network {
	b.Helper()
	c := exec.Command("unshare", "--net", "sh", "-c", "echo there; exec sleep 900")
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Skipf("no network namespace here: %v", err)
	}
	b.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		b.Skip("no network namespace here: unshare does not work")
	}
	n := &network{b: b, pid: strconv.Itoa(c.Process.Pid)}
	if n.fd, err = unix.Open("/proc/"+n.pid+"/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Close(n.fd) })
	n.run("ip", "link", "set", "lo", "up")
	return n
}

// argv is what runs a command inside.
func (n *network) argv(argv ...string) []string {
	return append([]string{"nsenter", "--net=/proc/" + n.pid + "/ns/net", "--"}, argv...)
}

func (n *network) run(argv ...string) string {
	n.b.Helper()
	argv = n.argv(argv...)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		n.b.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// do calls f on a thread that is inside. Sockets that f makes stay inside.
func (n *network) do(f func() error) {
	n.b.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		n.b.Fatal(err)
	}
}

// udp opens a datagram socket inside.
func (n *network) udp(local, remote string) (c *net.UDPConn) {
	n.b.Helper()
	n.do(func() (err error) {
		at := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(local))
		if remote == "" {
			c, err = net.ListenUDP("udp4", at)
		} else {
			c, err = net.DialUDP("udp4", at, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(remote)))
		}
		return err
	})
	n.b.Cleanup(func() { _ = c.Close() })
	return c
}

// dial connects a client to the site.
func (n *network) dial(from netip.Addr) (c net.Conn) {
	n.b.Helper()
	n.do(func() (err error) {
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: patience}
		c, err = d.DialContext(context.Background(), "tcp4", host+":80")
		return err
	})
	n.b.Cleanup(func() { _ = c.Close() })
	return c
}

// bed is a host with a site, and its clients outside.
type bed struct {
	b             *testing.B
	site, outside *network
	node          *program.Process
	nginx         *exec.Cmd
}

// rules are those of a node whose rule login blocks at the 20th request.
const rules = `
state: $DIR/state
memory: 64MB
listen: {auth: ["127.0.0.1:9180"], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}
rules: [{name: login, threshold: 20, guard: 0.95, match: {path: [/login]}, block_for: 1h}]
`

func newBed(b *testing.B, config string, asks bool) *bed {
	b.Helper()
	if os.Getuid() != 0 {
		b.Skip("needs root, for network namespaces")
	}
	for programHere, of := range map[string]string{"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "nginx": "nginx-light"} {
		if _, err := exec.LookPath(programHere); err != nil {
			b.Skipf("needs %s: install %s", programHere, of)
		}
	}
	d := &bed{b: b, site: newNetwork(b), outside: newNetwork(b), node: program.NewNode(b, rules+config)}
	d.site.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", d.outside.pid)
	d.site.run("ip", "address", "add", host+"/24", "dev", "eth0")
	d.site.run("ip", "link", "set", "eth0", "up")
	d.site.run("ip", "route", "add", "198.51.100.0/24", "dev", "eth0")
	var batch strings.Builder
	for n := range clients {
		fmt.Fprintf(&batch, "address add %v/32 dev eth0\n", client(n))
	}
	file := d.node.Path("addresses")
	d.must(os.WriteFile(file, []byte(batch.String()), 0o600))
	d.outside.run("ip", "-batch", file)
	d.outside.run("ip", "link", "set", "eth0", "up")
	d.outside.run("ip", "route", "add", "192.0.2.0/24", "dev", "eth0")
	d.must(os.WriteFile(d.node.Path("access.log"), nil, 0o644))
	d.startNode()
	d.startNginx(asks)
	return d
}

func (d *bed) must(err error) {
	d.b.Helper()
	if err != nil {
		d.b.Fatal(err)
	}
}

func (d *bed) startNode() {
	programHere, err := program.Build()
	d.must(err)
	argv := d.site.argv(programHere, "serve", "--config", d.node.Path("config.yaml"))
	d.node.Program, d.node.Args = argv[0], argv[1:]
	d.node.Launch()
	d.node.Until("the node answers", func() bool {
		return exec.Command(programHere, "blocks", "--config", d.node.Path("config.yaml")).Run() == nil
	})
}

// startNginx starts the site. It asks edgeguard about each request, as the snippet
// nginx has it, or only writes its log.
func (d *bed) startNginx(asks bool) {
	d.b.Helper()
	dir := d.node.Folder
	server := "server { listen " + host + ":80; location / { return 204; } }"
	if asks {
		var text strings.Builder
		d.must(snippets.Write(&text, "nginx", snippets.Values{Listen: host + ":80", Locations: "location / { try_files /nothing =204; }"}))
		server = strings.ReplaceAll(text.String(), " 100ms;", " 10s;")
	}
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	conf := filepath.Join(dir, "nginx.conf")
	d.must(os.WriteFile(conf, []byte(fmt.Sprintf("daemon off;\nuser root;\nworker_processes 1;\npid %s/nginx.pid;\nerror_log stderr emerg;\nevents {}\nhttp {\nkeepalive_requests 100000000;\n"+
		"access_log %s/access.log combined buffer=64k flush=50ms;\n%s%s\n}\n", dir, dir, temp, server)), 0o644))
	argv := d.site.argv("nginx", "-p", dir, "-c", conf)
	d.nginx = exec.Command(argv[0], argv[1:]...)
	d.nginx.Stderr = os.Stderr
	d.must(d.nginx.Start())
	d.b.Cleanup(func() { _ = d.nginx.Process.Signal(syscall.SIGTERM); _ = d.nginx.Wait() })
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if out := d.site.run("ss", "-Hltn", "sport = :80"); strings.Contains(out, ":80") {
			return
		}
		if time.Now().After(deadline) {
			d.b.Fatal("nginx does not listen")
		}
	}
}

// edgeguard runs a command of the node.
func (d *bed) edgeguard(args ...string) {
	d.b.Helper()
	programHere, err := program.Build()
	d.must(err)
	d.site.run(append([]string{programHere}, append(args, "--config", d.node.Path("config.yaml"))...)...)
}
