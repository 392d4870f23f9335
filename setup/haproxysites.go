package setup

import (
	"cmp"
	"slices"
	"strings"
)

// haproxySections notes where lines of edgeguard go in a HAProxy's configuration.
type haproxySections struct {
	found   *Found
	modes   map[string]string // of each defaults section, by its name; "" is the last one's
	formats map[string]bool   // which of them have a log-format
	kind    string            // of the section
	named   string            // a defaults section
	site    *Site             // of a frontend
	mode    string
	rules   mark // behind which its rules go
	log     mark // behind which what it logs goes
}

var haproxyKinds = []string{"global", "defaults", "frontend", "listen", "backend", "peers", "ring", "resolvers", "mailers", "userlist",
	"cache", "program", "http-errors", "fcgi-app", "log-forward", "log-profile", "crt-store", "traces", "acme"}

func (h *haproxySections) line(words []string, number int, at mark) {
	if len(words) == 0 {
		return
	}
	word := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch {
	case slices.Contains(haproxyKinds, words[0]):
		h.end()
		h.begin(words, number, at)
	case h.kind == "defaults" && words[0] == "mode":
		h.modes[h.named] = word(1)
	case h.kind == "defaults" && words[0] == "log-format":
		h.formats[h.named] = true
	case h.kind == "global" && words[0] == "localpeer":
		h.found.peer = word(1)
	case words[0] == "tune.http.logurilen":
		h.found.longPaths = true
	case h.site == nil:
	case words[0] == "mode":
		h.mode = word(1)
	case words[0] == "log-format":
		h.site.Logs = true
	case words[0] == "capture", words[0] == "option", word(1) == "capture":
		h.log = at
	case words[0] == "tcp-request", words[0] == "http-request" && strings.HasPrefix(word(1), "set-src"):
		h.rules = at
	}
}

// begin begins a section. One without a mode of its own has that of its defaults.
func (h *haproxySections) begin(words []string, number int, at mark) {
	h.kind, h.named = words[0], ""
	name, from := "", ""
	if len(words) > 1 && words[1] != "from" {
		name = words[1]
	}
	if i := slices.Index(words, "from"); i > 0 && i+1 < len(words) {
		from = words[i+1]
	}
	switch h.kind {
	case "defaults":
		h.named = name
		h.modes[name], h.formats[name] = "", false
		if from != "" {
			h.modes[name], h.formats[name] = h.modes[from], h.formats[from]
		}
	case "peers":
		h.found.peers = true
	case "frontend", "listen":
		h.site = &Site{At: lineOf(at.file, number), Names: []string{name}, Logs: h.formats[from]}
		h.rules, h.log, h.mode = at, at, h.modes[from]
	}
}

// end ends a section.
func (h *haproxySections) end() {
	if h.kind == "defaults" {
		h.modes[""], h.formats[""] = h.modes[h.named], h.formats[h.named]
	}
	if h.site == nil {
		return
	}
	if h.site.marks = []mark{h.rules}; !h.site.Logs {
		h.site.marks = append(h.site.marks, h.log)
	}
	if h.mode != "http" {
		h.site.Unfit = "mode " + cmp.Or(h.mode, "tcp") + ", so it sees no requests"
	}
	h.found.Sites = append(h.found.Sites, *h.site)
	h.site = nil
}

// fitted returns the lines of the end as HAProxy's other lines allow them: it has one name among all
// peers, and a longer path may be logged already.
func (f *Found) fitted(w *Wiring) (lines []string) {
	name := f.peer
	if f.peers && name == "" {
		name = w.Host
	}
	for _, line := range w.End {
		switch words := strings.Fields(line); {
		case name != "" && words[0] == "localpeer", f.longPaths && words[0] == "tune.http.logurilen":
		case name != "" && len(words) == 2 && words[0] == "server":
			lines = append(lines, strings.Replace(line, words[1], name, 1))
		default:
			lines = append(lines, line)
		}
	}
	return lines
}
