package recipes

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/program"
)

// newNames returns a running node with the printed lines of a recipe that refuses by a
// folder of names, and the folder.
func newNames(t *testing.T, name string, swaps ...string) (r *recipe, folder string) {
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
func newNginxNames(t *testing.T) (r *recipe, front, folder string) {
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
func findsNames(t *testing.T, folder string, asks func(client string) int, text func(netip.Addr) string) {
	t.Helper()
	dice := rand.New(rand.NewPCG(7, 9))
	for i := range 3000 {
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
		if got := asks(text(a)); got != 429 {
			t.Fatalf("%s is %s, and gets %d", a, name, got)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if got := asks(text(a)); got != 204 {
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
	if i%4 == 0 {
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
