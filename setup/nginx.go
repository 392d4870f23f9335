package setup

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// nginx reads nginx's configuration. Its files are read, and `nginx -T` is not asked:
// that opens every log, and so makes those that are missing, as root.
type nginx struct {
	*source
	folder  string // of the first file: includes are relative to it
	blocks  []string
	formats map[string]string
	// forgeable has the field of a JSON format in which a client writes his address.
	forgeable map[string]string
	logs      []Log
	named     []string // the name of each log's format
	http      bool
	off       bool
	server    *virtual
}

func readNginx(s *source, file string) error {
	n := &nginx{source: s, folder: path.Dir(file), formats: map[string]string{"combined": "combined"}, forgeable: map[string]string{}}
	if err := n.file(file, 0); err != nil {
		return err
	}
	if n.http && len(n.logs) == 0 && !n.off { // what it was built with
		n.logs, n.named = append(n.logs, Log{File: n.prefix("access.log"), At: file + ", by default"}), append(n.named, "combined")
	}
	n.addedLog()
	for i := range n.logs {
		if l := &n.logs[i]; l.Unusable == "" {
			l.Format = n.formats[n.named[i]]
			if field := n.forgeable[n.named[i]]; l.Format == "json" && field != "" {
				l.Unusable = "its format has " + field + ", which clients write: put $remote_addr there"
			}
		}
		n.addLog(n.logs[i])
	}
	return nil
}

// forged is a field of JSON that is read as the client's address, and holds a header.
var forged = regexp.MustCompile(`"(?:remote_addr|remote_ip|ip|client_?ip|ClientIP|ClientAddr)"\s*:\s*"?\$\{?(?:http_|proxy_add_)[a-z_]*`)

// prefix returns where a log lies whose path is relative. Distributions build nginx
// with a folder of its own for the log that it writes by default.
func (n *nginx) prefix(name string) string {
	if n.folder == "/etc/nginx" {
		return absolute("/var/log/nginx", name)
	}
	return absolute(path.Join(path.Dir(n.folder), "logs"), name)
}

func (n *nginx) file(file string, depth int) error {
	text, err := n.readFile(file)
	if err != nil {
		return err
	}
	lex := NginxLexer(text)
	for {
		s, ok := lex.NextStatement()
		if !ok {
			return nil
		}
		switch s.End {
		case "{":
			if !slices.Contains(n.blocks, "stream") && !slices.Contains(n.blocks, "mail") {
				n.found.begin(&s, n.blocks, mark{file: file, after: len(text) - lex.left()})
			}
			n.blocks = append(n.blocks, s.Word(0))
			n.http = n.http || s.Word(0) == "http"
			if s.Word(0) == "server" && !slices.Contains(n.blocks, "stream") && !slices.Contains(n.blocks, "mail") {
				n.server = &virtual{at: lineOf(file, s.Line)}
			}
		case "}":
			last := max(0, len(n.blocks)-1)
			if n.server != nil && last < len(n.blocks) && n.blocks[last] == "server" {
				n.addVirtual(n.server)
				n.server = nil
			}
			n.blocks = n.blocks[:last]
		case ";":
			n.directive(&s, file, depth)
		}
	}
}

func (n *nginx) directive(s *Statement, file string, depth int) {
	if slices.Contains(n.blocks, "stream") || slices.Contains(n.blocks, "mail") {
		return // connections, not requests
	}
	n.found.set(s, n.blocks, lineOf(file, s.Line))
	switch s.Word(0) {
	case "include":
		if s.Word(1) != "" {
			pattern := absolute(n.folder, s.Word(1))
			if slices.Equal(n.blocks, []string{"http"}) && path.Base(pattern) == "*.conf" && n.found.http.folder == "" {
				n.found.Folder, n.found.http.folder = path.Dir(pattern), path.Dir(pattern)
			}
			n.included(pattern, depth, n.file)
		}
	case "log_format":
		words := s.Words[min(2, len(s.Words)):]
		if len(words) > 0 && strings.HasPrefix(words[0], "escape=") {
			words = words[1:]
		}
		n.formats[s.Word(1)] = named(strings.Join(words, ""))
		n.forgeable[s.Word(1)] = forged.FindString(strings.Join(words, ""))
	case "access_log":
		n.log(s, lineOf(file, s.Line))
	case "server_name":
		if n.server != nil && len(n.server.names) < mostHosts {
			n.server.names = append(n.server.names, s.Words[1:]...)
		}
	case "listen":
		if n.server != nil && (slices.Contains(s.Words, "default_server") || slices.Contains(s.Words, "default")) {
			n.server.isFallback = true
		}
	case "set_real_ip_from":
		if strings.HasSuffix(s.Word(1), "/0") {
			n.doubt("%s: set_real_ip_from %s lets every client name his address, and so get others blocked: name your proxies only", lineOf(file, s.Line), s.Word(1))
		}
	}
}

// hostPart is what nginx replaces in a path.
var hostPart = regexp.MustCompile(`\$(\w+|\{\w+\})`)

func (n *nginx) log(s *Statement, where string) {
	l := Log{At: where, whole: slices.Equal(n.blocks, []string{"http"})}
	file := s.Word(1)
	switch {
	case file == "off" || file == "":
		n.off = true
		return
	case strings.HasPrefix(file, "syslog:"):
		l.Unusable = "goes to " + file + ": let it go to a file as well"
	case strings.Contains(file, "$"):
		l.Unusable = "its path " + file + " has variables: name each file with --log, or all of them in the config with file: " + hostPart.ReplaceAllString(file, "*")
	default:
		l.File = file
		if !path.IsAbs(file) {
			l.File = n.prefix(strings.TrimPrefix(file, "logs/"))
		}
	}
	format := "combined"
	for _, word := range s.Words[min(2, len(s.Words)):] {
		switch {
		case strings.HasPrefix(word, "if="):
			n.doubt("%s: only requests of the condition %s are logged", where, word)
		case !strings.Contains(word, "="):
			format = word
		}
	}
	if len(n.logs) < mostLogs {
		n.logs, n.named = append(n.logs, l), append(n.named, format)
	}
}
