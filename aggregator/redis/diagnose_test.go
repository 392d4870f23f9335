package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// TestFaults: each fault has its text with its fix, and the node continues.
func TestFaults(t *testing.T) {
	open := startRedis(t, redistest.Options{})
	empty := redistest.Start(t, redistest.Options{Users: []string{userLine(ACLLine("edge", "test"))}})
	secured := redistest.Start(t, redistest.Options{TLS: true})
	gone := redistest.Start(t, redistest.Options{})
	gone.Kill()
	for _, test := range []struct {
		name, addr string
		change     func(*Config)
		kind, says string
	}{
		{"wrong password", open.Addr, func(c *Config) { c.Password = "wrong" }, "password", "fleet.password_file"},
		{"no password file", open.Addr, func(c *Config) { c.PasswordFile = "/nowhere" }, "password", "/nowhere"},
		{"another namespace's keys", open.Addr, func(c *Config) { c.Namespace = "other" }, "permission", "~eg:{other/*"},
		{"library missing", empty.Addr, nil, "library", "edgeguard fleet install"},
		{"TLS against plain", open.Addr, func(c *Config) { c.TLS.On, c.Timeout = true, 100*time.Millisecond }, "timeout", "fleet.tls"},
		{"plain against TLS", secured.Addr, nil, "unreachable", "rediss://"},
		{"unknown authority", secured.Addr, func(c *Config) { c.TLS.On = true }, "tls", "fleet.tls"},
		{"nobody there", gone.Addr, nil, "unreachable", "fleet.redis"},
		{"no cluster", open.Addr, func(c *Config) { c.Cluster = true }, "not a cluster", "name one address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := testConfig(test.addr, "edge-a")
			if test.change != nil {
				test.change(&c)
			}
			m := newMember(t, c).start(t)
			m.eventually(t, "the alarm", func() bool { return m.alarmed("fleet/redis") != "" })
			fault := m.link.Stats().Fault
			if fault.Kind != test.kind || !strings.Contains(fault.Text, test.says) {
				t.Errorf("%s: %s", fault.Kind, fault.Text)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if n := m.raised["fleet/redis"]; n != 1 {
				t.Errorf("%d alarms, not one", n)
			}
		})
	}
}

// TestFaultEnds: when what was missing is there, the node joins by itself.
func TestFaultEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{Users: []string{userLine(ACLLine("edge", "test"))}})
	file := filepath.Join(t.TempDir(), "password")
	write(t, file, "wrong")
	c := testConfig(s.Addr, "edge-a")
	c.PasswordFile = file
	m := newMember(t, c).start(t)
	m.eventually(t, "the wrong password", func() bool { return m.link.Stats().Fault.Kind == "password" })
	write(t, file, secret+"\n")
	m.eventually(t, "the missing library", func() bool { return m.link.Stats().Fault.Kind == "library" })
	install(t, s)
	m.eventually(t, "the fleet", func() bool { return m.link.Stats().Up })
	m.eventually(t, "the alarm's end, once the session has lasted", func() bool { return m.alarmed("fleet/redis") == "" })
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoaderInstalls(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{Users: []string{
		userLine(ACLLine("edge", "test")), userLine(LoaderACL("loader")),
	}})
	file := filepath.Join(t.TempDir(), "loader")
	write(t, file, "loader\n"+secret+"\n")
	join(t, s.Addr, 1, func(c *Config) { c.LoaderFile = file })
	client, err := NewClient(testConfig(s.Addr, "asker"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if done, err := Install(context.Background(), s.Client()); err != nil || len(done) != 1 || done[0].Was != "same" {
		t.Errorf("installed again: %v, %v", done, err)
	}
	if _, err := Install(context.Background(), client); err == nil || !strings.Contains(err.Error(), "edge-loader on >PASSWORD") {
		t.Errorf("a node's user could install: %v", err)
	}
}

func TestLoaderFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loader")
	for text, good := range map[string]bool{
		"loader\n" + secret:                   true,
		"loader\n" + secret + "\n":            true,
		" loader \r\n" + secret + " \r\n\r\n": true,
		"":                                    false,
		"loader":                              false,
		"loader\n":                            false,
		"loader:" + secret + "\n":             false,
		"\n" + secret + "\n":                  false,
		"loader\n\n" + secret + "\n":          false,
		"loader\n" + secret + "\nmore\n":      false,
	} {
		write(t, file, text)
		c := testConfig("localhost:6379", "edge-a")
		c.LoaderFile, c.PasswordFile = file, "/nowhere"
		err := c.asLoader()
		switch {
		case good && (err != nil || c.User != "loader" || c.Password != secret || c.PasswordFile != ""):
			t.Errorf("%q: %q, %q, %v", text, c.User, c.Password, err)
		case !good && (err == nil || !strings.Contains(err.Error(), "two lines") || strings.Contains(err.Error(), secret)):
			t.Errorf("%q: %v", text, err)
		}
	}
	c := testConfig("localhost:6379", "edge-a")
	c.LoaderFile = "/nowhere"
	if err := c.asLoader(); err == nil || !strings.Contains(err.Error(), "fleet.loader_file: open /nowhere") {
		t.Errorf("%v", err)
	}
}

func TestOtherPartitionCount(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	join(t, s.Addr, 1, nil)
	c := testConfig(s.Addr, "edge-b")
	c.Partitions = 8
	m := newMember(t, c).start(t)
	m.eventually(t, "the fault", func() bool { return m.link.Stats().Fault.Kind == "partitions" })
	if text := m.link.Stats().Fault.Text; !strings.Contains(text, "EDGEGUARD partitions 4") {
		t.Errorf("%s", text)
	}
}

func TestWrongClockIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	good := join(t, s.Addr, 1, nil)[0]
	late := newMember(t, testConfig(s.Addr, "edge-late"))
	late.epoch = func(local time.Time) time.Time { return local.Add(time.Minute) }
	late.local = func(epoch time.Time) time.Time { return epoch.Add(-time.Minute) }
	late.start(t)
	late.eventually(t, "the fault", func() bool {
		late.see("203.0.113.1", 1)
		return late.link.Stats().Fault.Kind == "clock"
	})
	good.see("203.0.113.2", 5)
	program.Eventually(t, "the good node's counts", func() bool { return held(t, s, "203.0.113.2") == 5 })
	if n := held(t, s, "203.0.113.1"); n != 0 {
		t.Errorf("%d counts of the wrong clock were accepted", n)
	}
	good.eventually(t, "the wrong clock's name", func() bool { return good.alarmed("clock/edge-late") != "" })
	if ahead := late.link.Stats().Ahead; ahead < 59*time.Second || ahead > 61*time.Second {
		t.Errorf("measured %v ahead, not 1m", ahead)
	}
}

func TestTwoNodesOfOneName(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, func(c *Config) { c.Node = "edge" })
	for _, m := range fleet {
		m.eventually(t, "the alarm", func() bool { return m.alarmed("duplicate_name/edge") != "" })
	}
	fleet[1].stop()
	gone := fleet[1].config.Node + "/" + fleet[1].link.beats.boot
	if n, err := s.Client().HDel(context.Background(), newNames("test", 4).nodes, gone).Result(); n != 1 || err != nil {
		t.Fatalf("%d heartbeats of the second node: %v", n, err)
	}
	fleet[0].eventually(t, "the end of it", func() bool { return fleet[0].alarmed("duplicate_name/edge") == "" })
}

func TestFullAndEvictingRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{Policy: "allkeys-lru"})
	m := join(t, s.Addr, 1, nil)[0]
	m.eventually(t, "the eviction policy's alarm", func() bool {
		return strings.Contains(m.alarmed("eviction/redis"), "allkeys-lru")
	})
	set := func(name, value string) {
		t.Helper()
		if err := s.Client().ConfigSet(context.Background(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	room := s.Memory()
	set("maxmemory", strconv.FormatInt(room+1<<20, 10))
	for i := range 400 { // of another client
		if err := s.Client().Set(context.Background(), fmt.Sprint("filler ", i), strings.Repeat("x", 10_000), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory", strconv.FormatInt(8*room, 10))
	m.eventually(t, "the alarm that keys were evicted", func() bool {
		return regexp.MustCompile("has evicted [1-9][0-9]* keys").MatchString(m.alarmed("eviction/redis"))
	})
	set("maxmemory-policy", "noeviction")
	set("maxmemory", "100kb")
	m.eventually(t, "the fault", func() bool { return m.link.Stats().Fault.Kind == "full" })
	set("maxmemory", "0")
	m.eventually(t, "the fleet again", func() bool { return m.link.Stats().Up })
}

// TestReadOnlyRedis: the node's address is a replica's. It has the library from
// its master, and cannot be given it separately.
func TestReadOnlyRedis(t *testing.T) {
	master := startRedis(t, redistest.Options{})
	replica := redistest.Start(t, redistest.Options{
		Users: []string{userLine(ACLLine("edge", "test"))},
		Args:  []string{"--replicaof", "127.0.0.1 " + portOf(master.Addr)},
	})
	program.Eventually(t, "the library on the replica", func() bool {
		done, err := Install(context.Background(), replica.Client())
		return err == nil && done[0].Was == "same"
	})
	m := newMember(t, testConfig(replica.Addr, "edge-a")).start(t)
	m.eventually(t, "the fault", func() bool { return m.link.Stats().Fault.Kind == "read only" })
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// TestWords has server errors that no test here can cause.
func TestWords(t *testing.T) {
	c := testConfig("x:1", "edge-a")
	for text, kind := range map[string]string{
		"ERR unknown command `FCALL`, with args beginning with:": "too old",
		"LOADING Redis is loading the dataset in memory":         "loading",
		"TRYAGAIN Multiple keys request during rehashing":        "cluster",
		"MOVED 1234 127.0.0.1:7001":                              "cluster",
		"CLUSTERDOWN The cluster is down":                        "cluster",
		"MISCONF Redis is configured to save RDB snapshots":      "read only",
		"ERR max number of clients reached":                      "busy",
		"NOAUTH Authentication required.":                        "password",
		"heartbeat: an answer of 8 parts":                        "library",
		"something new":                                          "unreachable",
	} {
		got := c.diagnose(errors.New(text))
		if got.Kind != kind || got.Text == "" || got.Patience == 0 {
			t.Errorf("%s: %+v, not %s", text, got, kind)
		}
	}
}

// TestACLNamesWhatTheLibraryDoes: Redis checks the commands inside a function
// against the user, too.
func TestACLNamesWhatTheLibraryDoes(t *testing.T) {
	line := ACLLine("edge", "test") + " "
	found := regexp.MustCompile(`(?:call|try)\('([A-Z]+)'`).FindAllStringSubmatch(LibrarySource, -1)
	if len(found) < 10 {
		t.Fatalf("%d commands found in the library", len(found))
	}
	if strings.Contains(line, " +set ") {
		t.Error("SET is for a replay's clock, which no node's user may claim")
	}
	for _, command := range found {
		if name := " +" + strings.ToLower(command[1]) + " "; !strings.Contains(line, name) {
			t.Errorf("the library calls %s, and the ACL line does not allow it", command[1])
		}
	}
}
