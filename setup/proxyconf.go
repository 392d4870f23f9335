package setup

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Files reads the files of a configuration.
type Files interface {
	// Read returns the text of a file, bounded in length.
	Read(path string) (string, error)
	// Glob returns the files that match a pattern, in their order.
	Glob(pattern string) []string
}

// Log is an access log that a configuration names. Its texts are as the configuration
// has them: they may hold any character.
type Log struct {
	Proxy string
	File  string // absolute; empty if the log is no file
	// Format is as sensors.accesslog takes it, empty if it is not known.
	Format string
	At     string // where it is named, FILE:LINE
	// whole says that all virtual hosts write it which have no log of their own.
	whole bool
	// Unusable says why it cannot be followed, and what to do; empty if it can.
	Unusable string
}

// Found is what the configuration of one proxy says.
type Found struct {
	Proxy  string
	Config string
	Logs   []Log
	Hosts  SiteNames // of its virtual hosts
	// Folder is where a file could be that adds a log to those of the whole server; empty if there
	// is none, or it has been added. See [AddLog].
	Folder string
	Doubts []string // what to look at before its logs are believed
	Sites  []Site
	Missed []string // where lines of edgeguard may be missing: the files could not be read as a whole
	names  askedNames
	http   httpBlock
	// What HAProxy calls itself among its peers, whether it has any, and whether it logs long paths.
	peer             string
	peers, longPaths bool
}

// readers are the proxies whose configurations can be read.
var readers = map[string]func(*source, string) error{
	"nginx":   readNginx,
	"apache":  readApache,
	"haproxy": readHAProxy,
	"caddy":   readCaddy,
	"traefik": readTraefik,
}

// GivenLog is the Proxy of a log that an operator names.
const GivenLog = "given"

// Place is where a proxy's configuration begins.
type Place struct{ Proxy, File string }

// Places are where packages of distributions and of the proxies put their configurations.
func Places() []Place {
	return []Place{
		{"nginx", "/etc/nginx/nginx.conf"},
		{"nginx", "/usr/local/nginx/conf/nginx.conf"},
		{"nginx", "/usr/local/openresty/nginx/conf/nginx.conf"},
		{"apache", "/etc/apache2/apache2.conf"},
		{"apache", "/etc/httpd/conf/httpd.conf"},
		{"haproxy", "/etc/haproxy/haproxy.cfg"},
		{"caddy", "/etc/caddy/Caddyfile"},
		{"traefik", "/etc/traefik/traefik.yml"},
		{"traefik", "/etc/traefik/traefik.yaml"},
		{"traefik", "/etc/traefik/traefik.toml"},
	}
}

// ProxyNames returns the proxies whose configurations can be read.
func ProxyNames() []string { return []string{"nginx", "apache", "haproxy", "caddy", "traefik"} }

// FindLogs finds in a proxy's configuration where it writes its access logs, and in which
// format. Only as much is parsed as that needs: a directive that is not known is passed
// over, and a condition is taken for true. So what is found is where to look, and the
// caller looks whether a log is there. The error says why the first file cannot be read.
func FindLogs(place Place, files Files) (Found, error) {
	read, known := readers[place.Proxy]
	if !known {
		return Found{}, fmt.Errorf("%q: use one of %s", place.Proxy, strings.Join(ProxyNames(), ", "))
	}
	s := &source{files: files, found: Found{Proxy: place.Proxy, Config: place.File}, left: mostFiles}
	err := read(s, place.File)
	return s.found, err
}

// The bounds of one configuration: who may write an included file may not have the
// reading go on for ever.
const (
	mostFiles = 2000
	mostDepth = 16
	mostLogs  = 200
)

// source reads one configuration.
type source struct {
	files Files
	found Found
	left  int // how many files may still be read
}

// readFile returns the text of a file.
func (s *source) readFile(file string) (string, error) {
	if s.left--; s.left < 0 {
		return "", fmt.Errorf("%s: more than %d files", file, mostFiles)
	}
	return s.files.Read(file)
}

// included calls what reads each file of an include. Those that cannot be read are doubts.
func (s *source) included(pattern string, depth int, file func(string, int) error) {
	if depth >= mostDepth {
		s.missed("%s: includes are nested more than %d times", pattern, mostDepth)
		return
	}
	names := []string{pattern}
	if strings.ContainsAny(pattern, "*?[") {
		names = s.files.Glob(pattern)
	}
	for _, name := range names {
		if err := file(name, depth+1); err != nil {
			s.missed("%v", err)
		}
	}
}

// mostDoubts bounds what is said of one configuration.
const mostDoubts = 8

func (s *source) doubt(format string, args ...any) {
	if len(s.found.Doubts) < mostDoubts {
		s.found.Doubts = append(s.found.Doubts, fmt.Sprintf(format, args...))
	}
}

// missed is a doubt about the sites, too.
func (s *source) missed(format string, args ...any) {
	s.doubt(format, args...)
	if len(s.found.Missed) < mostDoubts {
		s.found.Missed = append(s.found.Missed, fmt.Sprintf(format, args...))
	}
}

// addLog adds a log, once for each file.
func (s *source) addLog(l Log) {
	if l.Unusable != "" {
		l.Format = ""
	}
	for _, known := range s.found.Logs {
		if known.File == l.File && known.Unusable == l.Unusable {
			if known.Format != l.Format {
				s.doubt("%s: is written in another format at %s than at %s", l.File, l.At, known.At)
			}
			return
		}
	}
	if len(s.found.Logs) < mostLogs {
		l.Proxy = s.found.Proxy
		s.found.Logs = append(s.found.Logs, l)
	}
}

// lineOf returns where a line is.
func lineOf(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// absolute returns a path below a folder unless it is absolute.
func absolute(folder, file string) string {
	if path.IsAbs(file) {
		return path.Clean(file)
	}
	return path.Join(folder, file)
}

// The beginnings of formats that have a name. What a server appends to combined is
// passed over by the format combined, unless it says more of a request.
var known = []struct{ begins, name string }{
	{`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`, "combined"},
	{`%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`, "combined"},
	{`%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"`, "combined"},
	{`%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`, "vhost_combined"},
}

// saysMore are names of what rules go by, in a format that is written out.
var saysMore = []string{"$http_sec_fetch_site", "$host", "$http_host", "$server_name", "%{Sec-Fetch-Site}i", "%{Host}i", "%v", "%V"}

// named returns the name of a format that is written out, or the format itself.
func named(format string) string {
	for _, k := range known {
		if rest, ok := strings.CutPrefix(format, k.begins); ok && (rest == "" || rest[0] == ' ') && !slices.ContainsFunc(saysMore, func(name string) bool { return strings.Contains(rest, name) }) {
			return k.name
		}
	}
	switch {
	case format == `%h %l %u %t "%r" %>s %O`, format == `%h %l %u %t "%r" %>s %b`:
		return "common"
	case strings.HasPrefix(format, "{"):
		return "json"
	}
	return format
}
