package setup

import (
	"path"
	"regexp"
	"strings"
)

// apache reads Apache's configuration. What stands in <If…> is taken for true.
type apache struct {
	*source
	root     string
	defined  map[string]string
	formats  map[string]string
	logs     []Log
	named    []string
	remoteIP bool // a header names the client
	proxies  bool // and of known proxies only
	host     *virtual
}

func readApache(s *source, file string) error {
	a := &apache{source: s, root: path.Dir(file), defined: map[string]string{}, formats: map[string]string{}}
	if text, err := s.readFile(path.Join(a.root, "envvars")); err == nil {
		a.exports(text)
	}
	if err := a.file(file, 0); err != nil {
		return err
	}
	for i := range a.logs {
		l := &a.logs[i]
		if format, known := a.formats[a.named[i]]; known {
			l.Format = named(format)
		} else if strings.Contains(a.named[i], "%") {
			l.Format = named(a.named[i])
		}
		a.addLog(*l)
	}
	if a.remoteIP && !a.proxies {
		s.doubt("mod_remoteip believes every client's header: name your proxies with RemoteIPInternalProxy or RemoteIPTrustedProxy, or any address can be got blocked")
	}
	return nil
}

// exports reads the variables that Debian's envvars sets. $SUFFIX is of a second
// instance, and empty for the first.
func (a *apache) exports(text string) {
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		value = strings.NewReplacer("${SUFFIX}", "", "$SUFFIX", "", `"`, "", "'", "").Replace(value)
		if found && !strings.ContainsAny(name, " \t[") && !strings.ContainsAny(value, "$`") {
			a.defined[name] = value
		}
	}
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// expand replaces the variables that are known.
func (a *apache) expand(word string) string {
	return variable.ReplaceAllStringFunc(word, func(v string) string {
		if value, known := a.defined[v[2:len(v)-1]]; known {
			return value
		}
		return v
	})
}

func (a *apache) file(file string, depth int) error {
	text, err := a.readFile(file)
	if err != nil {
		return err
	}
	number, whole, begins := 0, "", 0
	for line := range strings.Lines(text) {
		number++
		if whole == "" {
			begins = number
		}
		line = strings.TrimRight(line, "\r\n")
		if part, more := strings.CutSuffix(line, `\`); more {
			whole += part + " "
			continue
		}
		a.directive(splitWords(whole+line), file, begins, depth)
		whole = ""
	}
	return nil
}

func (a *apache) directive(words []string, file string, line, depth int) {
	if len(words) == 1 && strings.EqualFold(words[0], "</VirtualHost>") && a.host != nil {
		a.addVirtual(a.host)
		a.host = nil
	}
	if len(words) < 2 {
		return
	}
	for i := range words {
		words[i] = a.expand(words[i])
	}
	switch strings.ToLower(words[0]) {
	case "<virtualhost":
		a.host = &virtual{at: lineOf(file, line), isFallback: strings.HasPrefix(words[1], "_default_")}
	case "servername", "serveralias":
		a.name(words[1:])
	case "serverroot":
		a.root = words[1]
	case "define":
		if len(words) > 2 && len(a.defined) < mostFiles {
			a.defined[words[1]] = words[2]
		}
	case "include", "includeoptional":
		a.included(absolute(a.root, words[1]), depth, a.file)
	case "logformat":
		if len(words) > 2 {
			a.formats[words[2]] = words[1]
		} else {
			a.formats[""] = words[1] // that of TransferLog
		}
	case "transferlog":
		a.log(words[1], "", lineOf(file, line))
	case "customlog", "globallog":
		if len(words) > 2 {
			a.log(words[1], words[2], lineOf(file, line))
		}
		if len(words) > 3 {
			a.doubt("%s: only requests of the condition %s are logged", lineOf(file, line), words[3])
		}
	case "remoteipheader":
		a.remoteIP = true
	case "remoteipinternalproxy", "remoteiptrustedproxy", "remoteipinternalproxylist", "remoteiptrustedproxylist":
		a.proxies = true
	}
}

// name takes names of a virtual host, of which the first may have a scheme and a port.
func (a *apache) name(names []string) {
	if a.host == nil || len(a.host.names) >= mostHosts {
		return // that of the main server answers what no virtual host does
	}
	for _, name := range names {
		_, after, found := strings.Cut(name, "://")
		if found {
			name = after
		}
		if !strings.HasPrefix(name, "[") && !strings.Contains(name, "${") {
			name, _, _ = strings.Cut(name, ":")
		}
		a.host.names = append(a.host.names, name)
	}
}

func (a *apache) log(file, format, where string) {
	l := Log{At: where}
	switch {
	case strings.HasPrefix(file, "|"):
		l.Unusable = "goes to the program " + strings.TrimLeft(file, "|$") + ": name the file that it writes with --log"
	case strings.HasPrefix(file, "syslog"):
		l.Unusable = "goes to syslog: let it go to a file as well"
	case strings.Contains(file, "${"):
		l.Unusable = "its path " + file + " has variables that are not known: name the file with --log"
	default:
		l.File = absolute(a.root, file)
	}
	if len(a.logs) < mostLogs {
		a.logs, a.named = append(a.logs, l), append(a.named, format)
	}
}
