package setup

import (
	"path"
	"slices"
	"strings"
)

// addedFormat is the name of nginx's format of the log that is added for edgeguard. What it has
// beside combined tells what a page had a browser send, whatever that page wants, and whose part
// of the site fails.
const (
	addedFormat = "edgeguard"
	addedLine   = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_sec_fetch_site" "$host"`
)

// Added is a file of nginx's configuration that adds a log.
type Added struct{ File, Log, Text string }

// addedLog looks for the added log among those of the whole server. Each request is in these, too.
func (n *nginx) addedLog() {
	at := slices.IndexFunc(n.logs, func(l Log) bool { return l.whole && path.Base(l.File) == addedFormat+".log" })
	if at < 0 || n.named[at] != addedFormat {
		return
	}
	n.found.Folder = ""
	for i := range n.logs {
		if l := &n.logs[i]; i != at && l.whole && l.Unusable == "" {
			l.Unusable = "its requests are in " + n.logs[at].File + ", too"
		}
	}
}

// AddLog replaces the log that a server's virtual hosts write into, unless they have one of their own,
// by one that has the host and Sec-Fetch-Site, and returns the file that has nginx write it beside. It
// is false where there is no such log, so that nginx would no longer write the one that it writes by
// itself, or no place for the file.
func AddLog(all []Found, sources []Source) (add Added, ok bool) {
	for i := range all {
		f := &all[i]
		of := func(s Source) bool { return s.Follow && s.Proxy == f.Proxy && s.whole }
		at := slices.IndexFunc(sources, of)
		if f.Folder == "" || at < 0 {
			continue
		}
		add = Added{File: path.Join(f.Folder, "edgeguard-log.conf"), Log: path.Join(path.Dir(sources[at].File), addedFormat+".log")}
		add.Text = "# Written by edgeguard setup. It counts from this log, which has the host and Sec-Fetch-Site besides.\n" +
			"log_format " + addedFormat + " '" + addedLine + "';\naccess_log " + quoteNginx(add.Log) + " " + addedFormat + ";\n"
		for k := range sources {
			if of(sources[k]) {
				sources[k].Follow = false
			}
		}
		s := &sources[at]
		s.Follow, s.At, s.File, s.Format = true, add.File, add.Log, addedLine
		return add, true
	}
	return Added{}, false
}

// quoteNginx quotes a word for nginx.
func quoteNginx(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
