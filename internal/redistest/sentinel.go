package redistest

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/program"
)

// MasterName is the name that the Sentinels of [StartSentinel] know their
// master by.
const MasterName = "edge"

// Sentinel is a master and its replica, watched by three Sentinels.
type Sentinel struct {
	// Master and Replica are the roles at the start: a fail-over swaps them.
	Master, Replica *Server
	// Sentinels are the watchers; two of three must agree.
	Sentinels []*Server
	// Way is how the others reach the first master, and the address by which
	// they name it; nil where that is its own.
	Way *Proxy

	t testing.TB
}

// StartSentinel runs the five processes until the test ends. A master that
// does not answer for a second is replaced.
func StartSentinel(t testing.TB) *Sentinel {
	t.Helper()
	return (&Sentinel{t: t, Master: Start(t, Options{})}).start()
}

// StartSentinelWithWay is StartSentinel with a proxy before the first master:
// it can be parted from replica and Sentinels, and live on.
func StartSentinelWithWay(t testing.TB) *Sentinel {
	t.Helper()
	s := &Sentinel{t: t, Master: Start(t, Options{})}
	s.Way = NewProxy(t, s.Master.Addr)
	return s.start()
}

func (s *Sentinel) start() *Sentinel {
	t := s.t
	t.Helper()
	_, port, _ := net.SplitHostPort(s.Named())
	s.Replica = Start(t, Options{Args: []string{"--replicaof", "127.0.0.1 " + port}})
	program.Eventually(t, "the replica to be in step", func() bool { return inStep(s.Replica) })
	for range 3 {
		s.Sentinels = append(s.Sentinels, startWatcher(t, port))
	}
	program.Eventually(t, "the sentinels to know each other and the replica", s.known)
	return s
}

// startWatcher runs a Sentinel, which rewrites its own config file.
func startWatcher(t testing.TB, port string) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	write(t, file, fmt.Sprintf(`sentinel monitor %[1]s 127.0.0.1 %[2]s 2
sentinel down-after-milliseconds %[1]s 1000
sentinel failover-timeout %[1]s 5000
`, MasterName, port))
	return Start(t, Options{watcher: file})
}

// Named is the address by which the Sentinels know the first master.
func (s *Sentinel) Named() string {
	if s.Way != nil {
		return s.Way.Addr
	}
	return s.Master.Addr
}

// Addrs are the addresses of the Sentinels.
func (s *Sentinel) Addrs() []string {
	var addrs []string
	for _, w := range s.Sentinels {
		addrs = append(addrs, w.Addr)
	}
	return addrs
}

// Client is a client that asks the Sentinels for the master; it is closed when
// the test ends.
func (s *Sentinel) Client() *goredis.Client {
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: MasterName, SentinelAddrs: s.Addrs()})
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Current is the server that most Sentinels take for the master.
func (s *Sentinel) Current() *Server {
	votes := map[string]int{}
	for _, w := range s.Sentinels {
		if addr := masterOf(w); addr != "" {
			votes[addr]++
		}
	}
	switch {
	case votes[s.Named()] >= 2:
		return s.Master
	case votes[s.Replica.Addr] >= 2:
		return s.Replica
	}
	return nil
}

// Failover has the Sentinels put the replica in the master's place immediately,
// while the old master still runs and takes writes until it is demoted, and
// returns the new master when most Sentinels name it.
func (s *Sentinel) Failover() *Server {
	s.t.Helper()
	old := s.Current()
	program.Eventually(s.t, "a sentinel to start the fail-over", func() bool {
		return s.Sentinels[0].Client().Do(context.Background(), "SENTINEL", "FAILOVER", MasterName).Err() == nil
	})
	return s.Replaced(old)
}

// Replaced waits until most Sentinels name another master than old, which was
// killed or stopped, and returns it.
func (s *Sentinel) Replaced(old *Server) *Server {
	s.t.Helper()
	var now *Server
	program.Eventually(s.t, "another master", func() bool {
		now = s.Current()
		return now != nil && now != old && field(replication(now), "role:") == "master"
	})
	return now
}

func (s *Sentinel) known() bool {
	for _, w := range s.Sentinels {
		state, err := w.Client().Do(context.Background(), "SENTINEL", "MASTER", MasterName).Result()
		if err != nil {
			return false
		}
		pairs, ok := state.(map[any]any)
		if !ok || pairs["num-slaves"] != "1" || pairs["num-other-sentinels"] != "2" {
			return false
		}
	}
	return true
}

func masterOf(w *Server) string {
	pair, err := w.Client().Do(context.Background(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName).StringSlice()
	if err != nil || len(pair) != 2 {
		return ""
	}
	return net.JoinHostPort(pair[0], pair[1])
}
