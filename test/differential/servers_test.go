package differential

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// server is a real server under test.
type server struct {
	t      *testing.T
	name   string
	folder string
	port   int
	// logs are its ordinary logs by their format, as docs/configuration.md has it.
	logs map[string]string
	// judge is the log in which it, or the server behind it, says what it served:
	// address, status and path, whose escapes unescape undoes.
	judge string
	// lossy says that its log cannot hold a byte that is not UTF-8.
	lossy bool
	stops []func()
}

func newServer(t *testing.T, name string) *server {
	folder, err := os.MkdirTemp("", "judged")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // workers run as others
		t.Fatal(err)
	}
	s := &server{t: t, name: name, folder: folder, port: program.Port(t), logs: map[string]string{}, judge: filepath.Join(folder, "judge.log")}
	t.Cleanup(func() {
		s.stop()
		_ = os.RemoveAll(folder)
	})
	return s
}

func (s *server) path(name string) string { return filepath.Join(s.folder, name) }

// write writes a file, in which %NAME% means a value.
func (s *server) write(name, text string, values ...string) string {
	s.t.Helper()
	values = append(values, "%DIR%", s.folder, "%PORT%", fmt.Sprint(s.port))
	if err := os.WriteFile(s.path(name), []byte(strings.NewReplacer(values...).Replace(text)), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

// stop ends what was started, so that its logs are whole.
func (s *server) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
	s.stops = nil
}

// run starts a program and waits until it accepts connections on the port. On
// the signal quit the program ends what is under way and logs it: most servers log
// a request after its client has seen the end of the answer, so that nginx, Apache
// and HAProxy lose the last lines on SIGTERM.
func (s *server) run(port int, quit syscall.Signal, stdout *os.File, programHere string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(programHere, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if stdout != nil {
		cmd.Stdout = stdout
	}
	cmd.Env = append(os.Environ(), "HOME="+s.folder, "XDG_DATA_HOME="+s.folder, "XDG_CONFIG_HOME="+s.folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	s.stops = append(s.stops, func() {
		_ = cmd.Process.Signal(quit)
		select {
		case <-ended:
		case <-time.After(patience):
			s.t.Errorf("%s does not end", programHere)
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		if s.t.Failed() {
			s.t.Logf("%s said: %s", programHere, said.Bytes()[:min(said.Len(), 4000)])
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s does not listen; it said: %s", programHere, said.String())
		}
	}
}

// find returns a program's path, and skips the test where it is not installed.
func find(t *testing.T, programHere string) string {
	t.Helper()
	path, err := exec.LookPath(programHere)
	if err == nil {
		return path
	}
	if path = "/usr/sbin/" + programHere; exec.Command("test", "-x", path).Run() != nil {
		t.Skipf("%s is not installed: apt-get install %s", programHere, programHere)
	}
	return path
}

// nginxFormats are custom formats, in the three ways to write them.
var nginxFormats = []string{
	`log_format json escape=json '{"time":"$time_iso8601","remote_addr":"$remote_addr","user":"$remote_user","request":"$request","status":$status,"referer":"$http_referer","user_agent":"$http_user_agent"}';`,
	`log_format parts escape=json '{"ts":$msec,"ip":"$remote_addr","method":"$request_method","uri":"$request_uri","status":$status,"agent":"$http_user_agent"}';`,
	`log_format text '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time';`,
}

const nginxConfig = `daemon off; worker_processes 1; pid %DIR%/nginx.pid; error_log %DIR%/error.log crit;
%USER%
events { worker_connections 256; }
http {
	client_body_temp_path %DIR%/body; proxy_temp_path %DIR%/proxy; fastcgi_temp_path %DIR%/f; uwsgi_temp_path %DIR%/u; scgi_temp_path %DIR%/s;
	log_format judge '%WHO% $status $uri';
	access_log %DIR%/judge.log judge;
	%HTTP%
	server { listen 127.0.0.1:%PORT%; location / { return 204; } }
}
`

// nginx starts an nginx that answers 204 to all that it serves. who is its
// client's address as the judge writes it.
func (s *server) nginx(who, http string) {
	user := ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	config := s.write("nginx.conf", nginxConfig, "%USER%", user, "%WHO%", who, "%HTTP%", http)
	s.run(s.port, syscall.SIGQUIT, nil, find(s.t, "nginx"), "-c", config, "-e", s.path("error.log"))
}

// startNginx starts nginx with the limits that it has by itself.
func startNginx(t *testing.T) *server {
	s := newServer(t, "nginx")
	var http strings.Builder
	add := func(name, format string) {
		fmt.Fprintf(&http, "\taccess_log %s/%s.log %s;\n", s.folder, name, name)
		s.logs[format] = s.path(name + ".log")
	}
	add("combined", "combined")
	for i, format := range nginxFormats {
		http.WriteString(format + "\n")
		name := strings.Fields(format)[1]
		if i < 2 {
			format = "json"
		}
		add(name, format)
		if i == 1 {
			s.logs["json, method and uri apart"] = s.path(name + ".log")
		}
	}
	s.logs["json"] = s.path("json.log")
	s.nginx("$remote_addr", http.String())
	return s
}

// behind starts an nginx as the judge behind another server, which names the
// client in X-Judged.
func (s *server) behind() (port int) {
	front := s.port
	port = program.Port(s.t)
	s.port = port
	s.nginx("$http_x_judged", "large_client_header_buffers 8 128k;")
	s.port = front
	return port
}

const apacheConfig = `ServerRoot %DIR%
PidFile %DIR%/apache.pid
Listen 127.0.0.1:%PORT%
ServerName example.org
%USER%
Mutex file:%DIR% default
LoadModule mpm_event_module %MODULES%/mod_mpm_event.so
LoadModule authz_core_module %MODULES%/mod_authz_core.so
LoadModule authz_user_module %MODULES%/mod_authz_user.so
LoadModule authn_core_module %MODULES%/mod_authn_core.so
LoadModule authn_file_module %MODULES%/mod_authn_file.so
LoadModule auth_basic_module %MODULES%/mod_auth_basic.so
LoadModule alias_module %MODULES%/mod_alias.so
ErrorLog %DIR%/error.log
LogLevel crit
DocumentRoot %DIR%
RedirectMatch 204 "^(?!/secret)"
<LocationMatch "^/secret">
	AuthType Basic
	AuthName secret
	AuthUserFile %DIR%/users
	Require valid-user
</LocationMatch>
LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"" combined
LogFormat "%h %l %u %t \"%r\" %>s %b" common
LogFormat "%v:%p %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined
LogFormat "%a %>s %U" judge
CustomLog %DIR%/combined.log combined
CustomLog %DIR%/common.log common
CustomLog %DIR%/vhost_combined.log vhost_combined
CustomLog %DIR%/judge.log judge
`

func startApache(t *testing.T) *server {
	programHere := find(t, "apache2")
	const modules = "/usr/lib/apache2/modules" // where Debian has them
	if _, err := os.Stat(modules); err != nil {
		t.Skip(err)
	}
	s := newServer(t, "apache")
	for _, name := range []string{"combined", "common", "vhost_combined"} {
		s.logs[name] = s.path(name + ".log")
	}
	user := ""
	if os.Getuid() == 0 {
		user = "User www-data\nGroup www-data"
	}
	s.write("users", "")
	config := s.write("apache.conf", apacheConfig, "%USER%", user, "%MODULES%", modules)
	s.run(s.port, syscall.SIGWINCH, nil, programHere, "-D", "FOREGROUND", "-f", config)
	return s
}

const caddyConfig = `{
	admin off
	auto_https off
}
:%PORT% {
	bind 127.0.0.1
	log {
		output file %DIR%/caddy.log {
			roll_disabled
		}
		format json
	}
	reverse_proxy 127.0.0.1:%BEHIND% {
		header_up X-Judged {remote_host}
		header_up -X-Junk
	}
}
`

func startCaddy(t *testing.T) *server {
	programHere := find(t, "caddy")
	s := newServer(t, "caddy")
	s.logs["json"] = s.path("caddy.log")
	s.lossy = true
	config := s.write("Caddyfile", caddyConfig, "%BEHIND%", fmt.Sprint(s.behind()))
	s.run(s.port, syscall.SIGTERM, nil, programHere, "run", "--adapter", "caddyfile", "--config", config)
	return s
}

// startHAProxy starts HAProxy with the config that `edgeguard snippets haproxy`
// prints, whose log goes to a file and not to a socket: nothing may be lost here.
func startHAProxy(t *testing.T) *server {
	programHere := find(t, "haproxy")
	s := newServer(t, "haproxy")
	s.logs["haproxy"] = s.path("haproxy.log")
	out, err := os.Create(s.path("haproxy.log"))
	if err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	config.WriteString("defaults\n    mode http\n    option httplog\n    timeout connect 1s\n    timeout client 30s\n    timeout server 30s\n")
	if err := snippets.Write(&config, "haproxy", snippets.Values{Listen: fmt.Sprint(s.port), Backend: fmt.Sprintf("127.0.0.1:%d", s.behind())}); err != nil {
		t.Fatal(err)
	}
	s.write("denied", "")
	name := s.write("haproxy.cfg", config.String(),
		"tune.http.logurilen", "nbthread 1\n    tune.http.logurilen", // threads that write to one file at once lose lines
		"bind :", "bind 127.0.0.1:", "/var/lib/edgeguard/haproxy.acl", s.path("denied"),
		"    log /edgeguard/log.sock", "    http-request set-header X-Judged %[src]\n    http-request del-header X-Junk\n    log stdout")
	s.run(s.port, syscall.SIGUSR1, out, programHere, "-db", "-f", name)
	s.stops = append(s.stops, func() { _ = out.Close() })
	return s
}
