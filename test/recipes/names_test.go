package recipes

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

// newNames returns a running node with the printed lines of a recipe that refuses by a
// folder of names, and the folder.
func newNames(t testing.TB, name string, swaps ...string) (r *recipe, folder string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "edgeguard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // others may look into it, as into /run
		t.Fatal(err)
	}
	r = newRecipe(t, name)
	r.values.Names = filepath.Join(dir, "names")
	for i, swap := range swaps {
		swaps[i] = strings.ReplaceAll(swap, "$DIR", r.dir)
	}
	r.swaps = swaps
	r.startNode()
	return r, r.values.Names
}

// newNginxNames starts nginx beside it.
func newNginxNames(t testing.TB) (r *recipe, front, folder string) {
	t.Helper()
	need(t, "nginx", "nginx-light")
	front = program.Address(t)
	r, folder = newNames(t, "nginx-names", "/var/log/nginx/access.log", "$DIR/access.log",
		"/bin/systemctl try-reload-or-restart nginx.service", "nginx -c $DIR/nginx.conf -s reload")
	r.node.Until("the list is written", func() bool { _, err := os.Stat(r.node.Path("state/nginx-geo.conf")); return err == nil })
	r.startNginx(front)
	return r, front, folder
}

// An offender that nginx's log names is refused without a reload, its neighbour is not, and
// it is served again when its block has ended. A whole network is refused likewise, and the
// list beside has the blocks that no names can be.
func TestNginxNames(t *testing.T) {
	t.Parallel()
	r, front, folder := newNginxNames(t)
	for offender, neighbour := range map[string]string{"203.0.113.9": "203.0.113.10", "2001:db8::9": "2001:db8:0:1::9"} {
		r.attack(front, offender)
		r.node.Until(offender+" is refused", func() bool { return get(front, "/", offender) == 429 })
		if got := get(front, "/", neighbour); got != 204 {
			t.Errorf("%s: status %d", neighbour, got)
		}
		r.must("blocks", "remove", block(offender))
		r.node.Until(offender+" is served again", func() bool { return get(front, "/", offender) == 204 })
	}
	r.must("blocks", "add", "198.51.100.0/24", "--for", "1h", "--reason", "test")
	r.node.Until("a network is refused", func() bool { return get(front, "/", "198.51.100.255") == 429 })
	if got := get(front, "/", "198.51.101.0"); got != 204 {
		t.Errorf("beside the network: status %d", got)
	}
	if _, err := os.Stat(r.node.Path("state/nginx-geo.conf.changed")); err != nil { // of the start
		t.Error(err)
	}
	r.load()
	for a, prefix := range map[string]string{"8.8.9.9": "8.8.0.0/16", "2001:db8:7::1": "2001:db8:7::1"} {
		r.must("blocks", "add", prefix, "--for", "1h", "--reason", "test")
		r.until(a+" is refused by the list beside", func() bool { return get(front, "/", a) == 429 })
	}
	list, err := os.ReadFile(r.node.Path("state/nginx-geo.conf"))
	if err != nil || strings.Contains(string(list), "198.51.100.") || strings.Contains(string(list), "203.0.113.") {
		t.Errorf("the list beside has what is names: %v\n%s", err, list)
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) != 257 { // and the seed
		t.Errorf("%d names, %v", len(names), err)
	}
}

// nginx finds the name of each blocked address, and of no other, however the address is
// written.
func TestNginxFindsNames(t *testing.T) {
	t.Parallel()
	_, front, folder := newNginxNames(t)
	findsNames(t, folder, newAsker(t, front), netip.Addr.StringExpanded)
}

// findsNames fails unless each of many addresses is refused exactly while its name is there.
func findsNames(t *testing.T, folder string, asks func(path, client string) int, text func(netip.Addr) string) {
	t.Helper()
	dice := rand.New(rand.NewPCG(7, 9))
	n := 3000
	if os.Getenv("EDGEGUARD_ADDRESSES") != "" { // as many as docs/ways.md says
		n = 200_000
	}
	for i := range n {
		a := randomAddr(dice, i)
		name := a.String()
		if a.Is6() {
			b := a.As16()
			name = fmt.Sprintf("%x:%x:%x:%x::", binary.BigEndian.Uint16(b[:]), binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:]))
		}
		file := filepath.Join(folder, name)
		if err := os.Link(filepath.Join(folder, ".edgeguard"), file); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		if got := asks("/", text(a)); got != 429 {
			t.Fatalf("%s is %s, and gets %d", a, name, got)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if got := asks("/", text(a)); got != 204 {
			t.Fatalf("%s without its name gets %d", a, got)
		}
	}
}

// Caddy, too, finds each name, and refuses who is blocked.
func TestCaddyNames(t *testing.T) {
	t.Parallel()
	need(t, "caddy", "caddy")
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(backend.Close)
	front := program.Address(t)
	r, folder := newNames(t, "caddy-names", "/var/log/caddy/edgeguard.log", "$DIR/edgeguard.log", ":80 {", front[strings.LastIndexByte(front, ':'):]+" {\nbind 127.0.0.1")
	r.values.Backend = strings.TrimPrefix(backend.URL, "http://")
	env := []string{"HOME=" + r.dir, "XDG_DATA_HOME=" + r.dir, "XDG_CONFIG_HOME=" + r.dir}
	asHeader := strings.ReplaceAll(r.part("proxy"), "{remote_host}", "{header.X-Forwarded-For}") // of any client
	r.run(front, env, "caddy", "run", "--adapter", "caddyfile", "--config", r.write("Caddyfile", "{\nadmin off\n}\n"+asHeader))
	findsNames(t, folder, newAsker(t, front), netip.Addr.String)
	r.must("blocks", "add", "203.0.113.9", "--for", "1h", "--reason", "test")
	r.node.Until("a block is in force", func() bool { return get(front, "/", "203.0.113.9") == 429 })
	r.must("blocks", "remove", "203.0.113.9")
	r.node.Until("a lift is in force", func() bool { return get(front, "/", "203.0.113.9") == 204 })
}

// What docs/operations.md says of nginx: its cache of files keeps blocks and lifts from being in
// force, unless a server block turns it off, and a location that says who the client is says
// it too late.
func TestNginxMissesNames(t *testing.T) {
	t.Parallel()
	r, _, folder := newNginxNames(t)
	cached, turnedOff, late := program.Address(t), program.Address(t), program.Address(t)
	const cache = "open_file_cache max=1000; open_file_cache_valid 60s; open_file_cache_errors on;"
	server := func(address, more string) string {
		return "server { listen " + address + "; include " + r.node.Path("server.conf") + "; " + more + " }\n"
	}
	const site = "location / { try_files /none =204; }"
	r.write("conf.d/holes.conf", cache+"\n"+server(cached, site)+server(turnedOff, "open_file_cache off; "+site)+
		server(late, "set_real_ip_from 192.0.2.1; location / { set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; try_files /none =204; }"))
	if out, err := exec.Command("nginx", "-c", r.node.Path("nginx.conf"), "-s", "reload").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.node.Until("nginx serves the added servers", func() bool { return get(late, "/", "8.8.8.8") == 204 })
	const client = "203.0.113.9"
	want := func(what, address string, status int) {
		t.Helper()
		if got := get(address, "/", client); got != status {
			t.Errorf("%s: status %d, want %d", what, got, status)
		}
	}
	want("cached", cached, 204)
	file := filepath.Join(folder, client)
	if err := os.Link(filepath.Join(folder, ".edgeguard"), file); err != nil {
		t.Fatal(err)
	}
	want("a block behind the cache", cached, 204)
	want("a block with the cache turned off", turnedOff, 429)
	want("a block of a client that is known too late", late, 204)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want("a lift with the cache turned off", turnedOff, 204)
}

// randomAddr is IPv4, or IPv6 with groups that are often 0: those are what texts differ in.
func randomAddr(dice *rand.Rand, i int) netip.Addr {
	if i%2 == 0 {
		return netip.AddrFrom4([4]byte{byte(1 + dice.IntN(222)), byte(dice.Uint32()), byte(dice.Uint32()), byte(dice.Uint32())})
	}
	var b [16]byte
	for j := range 8 {
		v := uint16(0)
		switch dice.IntN(6) {
		case 0:
			v = uint16(dice.Uint32())
		case 1:
			v = uint16(dice.IntN(16))
		case 2:
			v = uint16(dice.IntN(256))
		}
		binary.BigEndian.PutUint16(b[2*j:], v)
	}
	b[0] = 0x20 | b[0]&0x1f
	if i%16 == 1 {
		b[0], b[1] = 0, byte(1+dice.IntN(255))
	}
	return netip.AddrFrom16(b)
}

// BenchmarkCrossing is the time from the request that crosses the limit to the first refusal,
// of one client on one connection at about 1,000 requests a second, and how many more pass
// meanwhile; and the time from "block the network" to the first refusal inside it.
func BenchmarkCrossing(b *testing.B) {
	for _, one := range []struct {
		name, log string
		blocks    int // beforehand
	}{{"unbuffered", "combined;", 0}, {"flush=50ms", "combined buffer=64k flush=50ms;", 0}, {"unbuffered-90000", "combined;", 90_000}} {
		b.Run(one.name, func(b *testing.B) {
			r, front, folder := newNginxNames(b)
			conf, err := os.ReadFile(r.node.Path("nginx.conf"))
			if err != nil {
				b.Fatal(err)
			}
			r.write("nginx.conf", strings.Replace(string(conf), "combined;", one.log, 1))
			if out, err := exec.Command("nginx", "-c", r.node.Path("nginx.conf"), "-s", "reload").CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			if one.blocks > 0 {
				var list strings.Builder
				for i := range one.blocks {
					fmt.Fprintf(&list, "198.%d.%d.%d\n", 51+i>>16, i>>8&255, i&255)
				}
				r.must("blocks", "import", r.write("list.txt", list.String()), "--for", "1h")
				r.node.Until("all are in the folder", func() bool { names, _ := os.ReadDir(folder); return len(names) > one.blocks })
			}
			time.Sleep(time.Second) // the old worker is gone: nothing is measured yet
			asks := newAsker(b, front)
			var took []time.Duration
			var more []int
			for i := range b.N {
				client := fmt.Sprintf("8.8.%d.%d", i/250, 1+i%250)
				for range 5 {
					asks("/attack", client)
				}
				began, passed := time.Now(), -1
				for status := 204; status != 429; passed++ {
					status = asks("/attack", client)
					time.Sleep(time.Millisecond)
				}
				took, more = append(took, time.Since(began)), append(more, passed)
			}
			slices.Sort(took)
			slices.Sort(more)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
			b.ReportMetric(float64(more[len(more)/2]), "more")
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("network", func(b *testing.B) {
		r, front, _ := newNginxNames(b)
		asks := newAsker(b, front)
		node, err := client.New(client.Config{Address: "unix:" + r.node.Path("admin.sock")})
		if err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		for i := range b.N {
			network := fmt.Sprintf("198.51.%d.", i%200)
			began := time.Now()
			if _, err := node.Block(b.Context(), admin.BlockRequest{Prefix: network + "0/24", For: "1h", Reason: "test"}); err != nil {
				b.Fatal(err)
			}
			for asks("/", network+"255") != 429 {
				time.Sleep(time.Millisecond)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
		b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkNamesCost is what a request that passes takes of nginx's processor time: without a
// test, and with one of an empty folder, and of one with 100,000 names. All servers are of
// one nginx, and take turns.
func BenchmarkNamesCost(b *testing.B) {
	r, _, folder := newNginxNames(b)
	full := filepath.Join(filepath.Dir(folder), "full")
	if err := os.Mkdir(full, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 100_000 {
		a := netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)})
		name := a.String()
		if i%2 == 1 {
			name = fmt.Sprintf("2001:db8:%x:%x::", i>>8, i&0xff)
		}
		if err := os.Link(filepath.Join(folder, ".edgeguard"), filepath.Join(full, name)); err != nil {
			b.Fatal(err)
		}
	}
	const site = "location / { return 204; }"
	test := r.part("server")
	servers := []struct{ name, address, client, text string }{
		{"plain", program.Address(b), "8.8.8.8", site},
		{"empty-v4", program.Address(b), "8.8.8.8", test + site},
		{"empty-v6", program.Address(b), "2001:db8:1:2:3:4:5:6", test + site},
		{"full-v4", program.Address(b), "8.8.8.8", strings.ReplaceAll(test, folder, full) + site},
		{"full-v6", program.Address(b), "2001::7:1:2:3:4", strings.ReplaceAll(test, folder, full) + site},
	}
	var conf strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&conf, "server { listen %s; access_log off; %s }\n", s.address, s.text)
	}
	r.write("conf.d/cost.conf", conf.String())
	if out, err := exec.Command("nginx", "-c", r.node.Path("nginx.conf"), "-s", "reload").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	r.node.Until("nginx serves them", func() bool { return get(servers[4].address, "/", "8.8.8.8") == 204 })
	time.Sleep(time.Second) // the old worker is gone
	took := make([][]float64, len(servers))
	for range b.N {
		for i, s := range servers {
			took[i] = append(took[i], workerTime(b, r, func(n int) { pipelined(b, s.address, s.client, n) }))
		}
	}
	slices.Sort(took[0])
	plain := took[0][len(took[0])/2]
	for i, s := range servers {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2]-plain*float64(min(i, 1)), "µs-"+s.name)
	}
	b.ReportMetric(0, "ns/op")
}

// workerTime returns the processor time of nginx's worker for one of many requests, in
// microseconds.
func workerTime(t testing.TB, r *recipe, ask func(n int)) float64 {
	t.Helper()
	pid, err := os.ReadFile(r.node.Path("nginx.pid"))
	if err != nil {
		t.Fatal(err)
	}
	main := strings.TrimSpace(string(pid))
	children, err := os.ReadFile("/proc/" + main + "/task/" + main + "/children")
	if err != nil {
		t.Fatal(err)
	}
	spent := func() (ns float64) {
		for _, child := range strings.Fields(string(children)) {
			text, err := os.ReadFile("/proc/" + child + "/schedstat")
			if err != nil {
				t.Fatal(err)
			}
			var one float64
			if _, err := fmt.Sscan(string(text), &one); err != nil {
				t.Fatal(err)
			}
			ns += one
		}
		return ns
	}
	const n = 20_000
	before := spent()
	ask(n)
	return (spent() - before) / n / 1000
}

// pipelined asks n times on one connection, a hundred at a time.
func pipelined(t testing.TB, server, client string, n int) {
	t.Helper()
	connection, err := net.Dial("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	batch := []byte(strings.Repeat("GET / HTTP/1.1\r\nHost: site\r\nX-Forwarded-For: "+client+"\r\n\r\n", 100))
	answers := bufio.NewReader(connection)
	for range n / 100 {
		if _, err := connection.Write(batch); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			response, err := http.ReadResponse(answers, nil)
			if err != nil || response.StatusCode != http.StatusNoContent {
				t.Fatal(response, err)
			}
		}
	}
}
