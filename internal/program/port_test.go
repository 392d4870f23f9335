package program

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// claimer is the variable that makes this test binary claim some ports, print
// them, and wait for the end of its standard input.
const claimer = "FREEPORT_CLAIMER"

func TestMain(m *testing.M) {
	if os.Getenv(claimer) == "" {
		os.Exit(m.Run())
	}
	port, _ := strconv.Atoi(os.Getenv(claimer))
	tryNext(port)
	for range 20 {
		port, _, err := Claim()
		fmt.Println(port, err)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// Processes that begin at the same port do not get one that another has.
func TestProcessesShareNoPort(t *testing.T) {
	owner := map[string]int{}
	begin := Port(t)
	for i := range 3 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", claimer, begin))
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
		lines := bufio.NewScanner(out)
		for n := 0; n < 20 && lines.Scan(); n++ {
			port, wrong := strings.CutSuffix(lines.Text(), " <nil>")
			if other, taken := owner[port]; taken || !wrong {
				t.Errorf("process %d: %q, which process %d has", i, lines.Text(), other)
			}
			owner[port] = i
		}
	}
	if len(owner) != 60 {
		t.Errorf("%d ports for three processes", len(owner))
	}
}

// A port is not given while a server listens there, though nothing claimed it.
func TestServersPortIsNotGiven(t *testing.T) {
	port, release, err := Claim()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	release()
	tryNext(port)
	if again := Port(t); again == port {
		t.Errorf("port %d is given, where a server listens", port)
	}
}

// Released ports are given again: more are claimed here than there are.
func TestReleasedPortsAreGivenAgain(t *testing.T) {
	for range ports + 1 {
		_, release, err := Claim()
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
}

// tryNext makes a port the first that the next Claim tries.
func tryNext(port int) { tried.Store(uint32(port-first) + 2*ports - start - 1) }
