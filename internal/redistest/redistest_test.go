package redistest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"edgeguard/internal/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func TestServer(t *testing.T) {
	s := Start(t, Options{AOF: true, Password: "secret"})
	if err := s.Client().Set(ctx, "a", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if s.PID() != 0 || s.Client().Get(ctx, "a").Err() == nil {
		t.Fatal("a killed server answers")
	}
	s.Restart()
	if got := s.Client().Get(ctx, "a").Val(); got != "1" {
		t.Fatalf("after the restart a is %q", got)
	}
	before := s.CPU()
	s.Stop()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := s.Client().Ping(short).Err(); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Fatalf("a frozen server: %v", err)
	}
	s.Cont()
	for s.CPU() <= before {
		s.Client().Get(ctx, "a")
	}
	if s.Memory() < 100_000 {
		t.Fatalf("memory %d", s.Memory())
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestUsersAndTLS(t *testing.T) {
	s := Start(t, Options{TLS: true, Password: "all", Users: []string{"user edge on >some ~eg:* +get"}})
	o := s.Options()
	o.Username, o.Password = "edge", "some"
	edge := goredis.NewClient(o)
	defer edge.Close()
	if err := edge.Get(ctx, "eg:1").Err(); !errors.Is(err, goredis.Nil) {
		t.Fatalf("a key of its own: %v", err)
	}
	if err := edge.Get(ctx, "other").Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Fatalf("a key of others: %v", err)
	}
	plain := goredis.NewClient(&goredis.Options{Addr: s.Addr, MaxRetries: -1})
	defer plain.Close()
	if plain.Ping(ctx).Err() == nil {
		t.Fatal("a server that speaks TLS only answers in the clear")
	}
}

// client is a connection through the proxy that retries nothing, and waits so long
// for an answer.
func client(t *testing.T, p *Proxy, timeout time.Duration) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{
		Addr: p.Addr, MaxRetries: -1, PoolSize: 1, DialerRetries: 1, Protocol: 2, DisableIdentity: true,
		ReadTimeout: timeout,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestProxy(t *testing.T) {
	s := Start(t, Options{})
	p := NewProxy(t, s.Addr)
	c := client(t, p, 200*time.Millisecond)
	value := func() string { return s.Client().Get(ctx, "n").Val() }
	good := func() {
		t.Helper()
		p.Heal()
		program.Eventually(t, "the proxy to pass again", func() bool { return c.Ping(ctx).Err() == nil })
	}
	good()
	for _, fault := range []struct {
		name  string
		fault Fault
		done  bool // the command is carried out all the same
	}{
		{"cut before the command is whole", Fault{CutAfter: 10}, false},
		{"reply dropped", Fault{DropReplies: true}, true},
		{"reply cut at its first byte", Fault{CutReplyAfter: 1}, true},
		{"reply cut later", Fault{CutReplyAfter: 3}, true},
		{"half-open", Fault{Swallow: true}, false},
		{"too late", Fault{Delay: 300 * time.Millisecond}, true},
	} {
		s.Client().Set(ctx, "n", "0", 0)
		p.Set(fault.fault)
		if err := c.Incr(ctx, "n").Err(); err == nil {
			t.Errorf("%s: no error", fault.name)
		}
		if fault.done {
			program.Eventually(t, fault.name+": the command to be carried out", func() bool { return value() == "1" })
		} else if value() != "0" {
			t.Errorf("%s: carried out", fault.name)
		}
		good()
	}
}

func TestProxyRefusesAndCuts(t *testing.T) {
	s := Start(t, Options{})
	p := NewProxy(t, s.Addr)
	c := client(t, p, patience)
	if err := c.Ping(ctx).Err(); err != nil || p.Connections() != 1 || p.Live() != 1 {
		t.Fatalf("%v, %d connections, %d live", err, p.Connections(), p.Live())
	}
	p.Set(Fault{Refuse: true})
	if err := c.Ping(ctx).Err(); err != nil {
		t.Fatalf("a standing connection was refused: %v", err)
	}
	p.Cut()
	program.Eventually(t, "the connection to be gone", func() bool { return p.Live() == 0 })
	conn, err := net.Dial("tcp", p.Addr)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	if err == nil || errors.Is(err, io.EOF) {
		t.Fatalf("a refused connection: %v", err)
	}
}

func TestCluster(t *testing.T) {
	c := StartCluster(t, 3, 3)
	client := c.Client()
	for _, key := range []string{"{a}1", "{a}2", "{a}3", "{a}4", "{b}", "{c}", "{d}"} {
		if err := client.Set(ctx, key, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	slot := c.Slot("{a}1")
	from := c.Owner(slot)
	to := c.Servers[0]
	if to == from {
		to = c.Servers[1]
	}
	asked := false
	c.Migrate(slot, to, func() {
		asked = true
		for _, key := range []string{"{a}1", "{a}4"} {
			if got := client.Get(ctx, key).Val(); got != "1" {
				t.Errorf("half way through the migration %s is %q", key, got)
			}
		}
	})
	if !asked || c.Owner(slot) != to {
		t.Fatal("the slot was not moved")
	}
	replica := c.Failover(to)
	if c.Owner(slot) != replica {
		t.Fatal("the replica does not have the slot")
	}
	program.Eventually(t, "the client to follow", func() bool { return client.Set(ctx, "{a}1", "2", 0).Err() == nil })
}

func TestSentinel(t *testing.T) {
	s := StartSentinel(t)
	client := s.Client()
	if err := client.Set(ctx, "a", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if now := s.Failover(); now != s.Replica || s.Master.PID() == 0 {
		t.Fatal("the replica is not the master")
	}
	program.Eventually(t, "the client to follow", func() bool { return client.Set(ctx, "a", "2", 0).Err() == nil })
	if got := s.Replica.Client().Get(ctx, "a").Val(); got != "2" {
		t.Fatalf("the new master has %q", got)
	}
}
