package recipes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// recipe is a snippet whose state folder is the test's, and a node with its config.
type recipe struct {
	t      testing.TB
	name   string
	dir    string // the test's
	node   *program.Process
	values snippets.Values
	// swaps are words of the snippet and what the test has in their place: paths of the
	// system, and what only systemd can do.
	swaps []string
	// inside begins each command of the loading service, such as with nsenter.
	inside []string
	env    []string
}

// base is what a node of a recipe has beside the printed lines. Only requests for
// /attack are counted, so that a test may ask for other pages until something holds.
const base = `
node: test
listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}
state: $DIR/state
rules: [{name: attack, threshold: 5, guard: 1, match: {path: /attack}}]
`

func newRecipe(t testing.TB, name string, swaps ...string) *recipe {
	t.Helper()
	r := &recipe{t: t, name: name, swaps: swaps}
	r.node = program.NewNode(t, base)
	r.dir = r.node.Folder
	r.values = snippets.Values{State: r.node.Path("state")}
	if err := os.Mkdir(r.values.State, 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

// part returns a part of the snippet, with the swaps. Each swap must occur somewhere in
// the snippet: what the test replaces must be what is printed.
func (r *recipe) part(name string) string {
	r.t.Helper()
	whole, err := snippets.Text(r.name, "", r.values)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(r.swaps); i += 2 {
		if !strings.Contains(whole, r.swaps[i]) {
			r.t.Fatalf("%s does not have %q:\n%s", r.name, r.swaps[i], whole)
		}
	}
	text, err := snippets.Text(r.name, name, r.values)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.NewReplacer(r.swaps...).Replace(text)
}

func (r *recipe) write(name, text string) string {
	r.t.Helper()
	if err := os.WriteFile(r.node.Path(name), []byte(strings.ReplaceAll(text, "$DIR", r.dir)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return r.node.Path(name)
}

// startNode starts the node, with the printed lines in its config, also those that are
// printed as a comment. Lists are written at a shorter distance than usual.
func (r *recipe) startNode() {
	r.t.Helper()
	printed := strings.ReplaceAll(r.part("config"), "reload:", "every: 1s, reload:")
	r.write("config.yaml", base+strings.ReplaceAll(strings.ReplaceAll(printed, "#sensors", "sensors"), "\n#  ", "\n  "))
	r.node.Launch()
	r.node.Until("the node is ready", func() bool { _, err := r.edgeguard("blocks"); return err == nil })
}

// edgeguard runs a command of the program against the node.
func (r *recipe) edgeguard(args ...string) (string, error) {
	programHere, err := program.Build()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(programHere, append(args, "--admin", "unix:"+r.node.Path("admin.sock"))...).CombinedOutput()
	return string(out), err
}

func (r *recipe) must(args ...string) string {
	r.t.Helper()
	out, err := r.edgeguard(args...)
	if err != nil {
		r.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return out
}

// load does what systemd does by the printed path unit and service: if the path exists,
// it runs the commands of the service.
func (r *recipe) load() {
	r.t.Helper()
	mark := value(r.part("path"), "PathExists=")
	if mark == nil {
		r.t.Fatal("the path unit names no path")
	}
	if _, err := os.Stat(mark[0]); err != nil {
		return
	}
	service := r.part("service")
	for _, line := range append(value(service, "ExecStartPre="), value(service, "ExecStart=")...) {
		c := exec.Command("sh", "-c", "exec \"$@\"", "sh")
		c.Args = append(c.Args, r.inside...)
		c.Args = append(c.Args, argv(line)...)
		c.Env = append(os.Environ(), r.env...)
		if out, err := c.CombinedOutput(); err != nil {
			r.t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	if _, err := os.Stat(r.list(mark[0])); err != nil {
		r.t.Fatal(err)
	}
}

// list returns the list of a mark.
func (r *recipe) list(mark string) string { return strings.TrimSuffix(mark, ".changed") }

// value returns what the lines of a unit have after a key.
func value(unit, key string) []string {
	var values []string
	for line := range strings.Lines(unit) {
		if v, ok := strings.CutPrefix(line, key); ok {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// argv splits a unit's command line. Single quotes keep spaces, and $$ is a dollar.
func argv(line string) []string {
	var args []string
	line = strings.ReplaceAll(line, "$$", "$")
	for i, piece := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, piece)
		} else {
			args = append(args, strings.Fields(piece)...)
		}
	}
	return args
}

// until waits until something holds, and loads the list whenever it has changed.
func (r *recipe) until(what string, holds func() bool) {
	r.t.Helper()
	r.node.Until(what, func() bool { r.load(); return holds() })
}

// run starts a server, and waits until it accepts connections.
func (r *recipe) run(address string, env []string, name string, args ...string) {
	r.t.Helper()
	var said bytes.Buffer
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = &said, &said
	c.Env = append(os.Environ(), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	r.t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-ended
		if r.t.Failed() {
			r.t.Logf("%s said: %s", name, &said)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-ended:
			r.t.Fatalf("%s ended: %s", name, &said)
		default:
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s does not listen at %s", name, address)
		}
	}
}

// get returns the status of an answer to a client that the proxy in front names, on a
// connection of its own; 0 while there is none.
func get(server, path, client string) int {
	request, err := http.NewRequest("GET", "http://"+server+path, nil)
	if err != nil {
		return 0
	}
	request.Header.Set("X-Forwarded-For", client)
	c := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := c.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// attack sends as many counted requests as the rule lets pass, and one more.
func (r *recipe) attack(server, client string) {
	r.t.Helper()
	for range 6 {
		if got := get(server, "/attack", client); got == 0 {
			r.t.Fatalf("%s gets no answer", client)
		}
	}
}

// need skips a test where a program is missing.
func need(t testing.TB, programHere, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(programHere); err != nil {
		t.Skipf("%s is not installed: scripts/need %s:%s", programHere, programHere, debianPackage)
	}
}

// blocked reports whether the node's list has an address.
func (r *recipe) blocked(client string) bool {
	out, err := r.edgeguard("explain", client)
	return err == nil && strings.Contains(out, "is blocked")
}

// nginxConfig returns a config of nginx with its own folders in the test's, to which the
// printed lines are added.
func nginxConfig(dir, front, site string) string {
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // the workers must get into the test's folder
	}
	return fmt.Sprintf(`daemon off; %[4]s pid %[1]s/nginx.pid; error_log %[1]s/nginx.log warn; worker_processes 1;
events {}
http {
	access_log %[1]s/access.log combined;
	keepalive_requests 1000000;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;
	include %[1]s/conf.d/*.conf;
	server { listen %[2]s; %[3]s location / { try_files /none =204; } }
}
`, dir, front, site, user)
}

// newAsker returns what get does on one connection, for many questions.
func newAsker(t testing.TB, server string) func(path, client string) (status int) {
	t.Helper()
	connection, err := net.Dial("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	answers := bufio.NewReader(connection)
	return func(path, client string) int {
		fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: site\r\nX-Forwarded-For: %s\r\n\r\n", path, client)
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return response.StatusCode
	}
}
