package setup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"edgeguard/internal/safetext"
	"edgeguard/setup"
)

// listener is a program that listens at a port of web sites.
type listener struct {
	port    uint64
	program string
}

// webPorts are where web sites are served.
var webPorts = []uint64{80, 443, 8080, 8443}

// unknown says which programs listen at the ports of web sites while none of their logs
// is counted. Only root sees the programs of others.
func unknown(report io.Writer, sources []setup.Source) {
	for _, l := range listeners("/proc") {
		proxy := l.program
		if proxy == "apache2" || proxy == "httpd" {
			proxy = "apache"
		}
		counted := slices.ContainsFunc(sources, func(s setup.Source) bool { return s.Follow && s.Proxy == proxy })
		if !counted {
			fmt.Fprintf(report, "note: %s listens at port %d, and no log of it is counted: name it with --log, or see edgeguard snippets\n", safetext.Strip(l.program), l.port)
		}
	}
}

// listeners returns the programs at the ports of web sites, by what the kernel says
// below a folder.
func listeners(proc string) []listener {
	sockets := map[string]uint64{} // the port of each socket, by its inode
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		if f, err := os.Open(filepath.Join(proc, name)); err == nil {
			readSockets(f, sockets)
			_ = f.Close() // it was only read
		}
	}
	if len(sockets) == 0 {
		return nil
	}
	var all []listener
	links, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*")) // the pattern is valid
	for _, link := range links {
		target, _ := os.Readlink(link) // gone: it has no socket
		inode, found := strings.CutPrefix(target, "socket:[")
		port, listens := sockets[strings.TrimSuffix(inode, "]")]
		if !found || !listens {
			continue
		}
		comm, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(link)), "comm"))
		if l := (listener{port, strings.TrimSpace(string(comm))}); err == nil && !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b listener) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// listens is the kernel's word for a socket that does.
const listens = "0A"

// readSockets reads a table of the kernel's sockets.
func readSockets(table io.Reader, sockets map[string]uint64) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listens {
			continue
		}
		_, port, _ := strings.Cut(fields[1], ":")
		n, err := strconv.ParseUint(port, 16, 16)
		if err == nil && slices.Contains(webPorts, n) {
			sockets[fields[9]] = n
		}
	}
}
