package setup

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/internal/safetext"
	"edgeguard/logline"
	"edgeguard/rules"
)

// SiteNames are names of the site, as own_hosts takes them.
type SiteNames struct {
	Names []string
	// Unsure says why they may not be all, and what to do; empty if they are. Of a list that lacks a
	// name, the visitors of that name would be taken for strangers'.
	Unsure string
}

// mostHosts bounds the names of one configuration.
const mostHosts = 200

// virtual is the virtual host of a configuration that is being read.
type virtual struct {
	names      []string
	at         string
	isFallback bool // it answers what no other does
}

// addVirtual takes the names of a virtual host. A server that answers whatever no other does
// says nothing of which names are the site's.
func (s *source) addVirtual(v *virtual) {
	for _, name := range v.names {
		own, unsure := ownHost(name)
		switch {
		case unsure != "":
			s.unsure("%s: %s", v.at, unsure)
		case len(own) > 0 && v.isFallback:
			s.unsure("%s: a default server has names", v.at)
		}
		s.found.Hosts.Names = append(s.found.Hosts.Names, own...)
	}
	if len(s.found.Hosts.Names) > mostHosts {
		s.found.Hosts.Names = s.found.Hosts.Names[:mostHosts]
		s.unsure("%s: there are more than %d names", s.found.Config, mostHosts)
	}
}

// unsure notes the first reason for which the names may not be all.
func (s *source) unsure(format string, args ...any) {
	if s.found.Hosts.Unsure == "" {
		s.found.Hosts.Unsure = fmt.Sprintf(format, args...)
	}
}

// ownHost returns a name of a virtual host as own_hosts takes it: none for what stands for
// any name, for this host and for an address. unsure says why it cannot be told.
func ownHost(name string) (own []string, unsure string) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case strings.HasPrefix(name, "~"):
		return nil, "a name is a regular expression"
	case strings.ContainsAny(name, "${}"):
		return nil, "a name has variables"
	}
	if domain, ok := strings.CutPrefix(name, "."); ok { // nginx's short form of two
		name, own = domain, []string{"*." + domain}
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil || name == "localhost" || strings.Trim(name, "_-*!@#") == "" {
		return nil, ""
	}
	if star := strings.LastIndexByte(name, '*'); star > 0 || star == 0 && !strings.HasPrefix(name, "*.") || strings.Contains(name, "?") {
		return nil, "a name has a wildcard within"
	}
	if _, problems := rules.ParseHosts([]string{name}); len(problems) > 0 {
		return nil, "a name is none that own_hosts takes"
	}
	return append(own, name), ""
}

// OwnHosts returns the names of the site where a log that is counted has the host or the Referer of
// requests. Where such a log has answers of many other hosts, the names are not all.
func OwnHosts(all []Found, sources []Source) (own SiteNames) {
	for i := range all {
		f := &all[i]
		if !slices.ContainsFunc(sources, func(s Source) bool { return s.Proxy == f.Proxy && s.namesHosts() }) {
			continue
		}
		for _, name := range f.Hosts.Names {
			if !slices.Contains(own.Names, name) {
				own.Names = append(own.Names, name)
			}
		}
		if own.Unsure == "" {
			own.Unsure = f.Hosts.Unsure
		}
	}
	hosts, problems := rules.ParseHosts(own.Names)
	if len(own.Names) == 0 || len(problems) > 0 {
		return SiteNames{}
	}
	for i := range sources {
		if s := &sources[i]; s.Follow && own.Unsure == "" {
			own.Unsure = s.others(hosts)
		}
	}
	return own
}

// namesHosts reports whether a source that is counted says which host was asked, or from which
// page a request came.
func (s *Source) namesHosts() bool {
	f, err := logline.ParseFormat(s.Format)
	if !s.Follow || err != nil || f == nil {
		return false
	}
	if strings.ContainsAny(s.Format, "$%") { // written out
		return slices.ContainsFunc(hostNames, func(name string) bool { return strings.Contains(s.Format, name) })
	}
	return f.Fields()&(edgeguard.FieldHost|edgeguard.FieldReferer) != 0
}

// hostNames are the names of a host and of the Referer in a format that is written out. That a request
// line may have a host, in an absolute address, is of a proxy's clients alone.
var hostNames = []string{"$host", "$http_host", "$server_name", "$http_referer", "%v", "%V", "%{Host}i", "%{Referer}i"}

// others says that many of the answers of a source are of hosts that are not the site's; empty if
// they are not.
func (s *Source) others(own *rules.Hosts) string {
	served, other := 0, 0
	for host, n := range s.shows.hosts {
		served += n
		if _, ok := own.Which(host); !ok {
			other += n
		}
	}
	if other*10 <= served {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d pages that were served are of hosts without a name in the configuration", s.File, other, served)
}

// noteHost notes a served page's host. That of an address is of scanners and of health checks.
func (s *shown) noteHost(ev *edgeguard.Event) {
	const need = edgeguard.FieldHost | edgeguard.FieldStatus
	if ev.Known&need != need || ev.Host == "" || ev.Status < 200 || ev.Status > 299 && ev.Status != 304 || len(s.hosts) >= mostHosts {
		return
	}
	if own, _ := ownHost(ev.Host); len(own) == 0 {
		return
	}
	if s.hosts == nil {
		s.hosts = make(map[string]int)
	}
	s.hosts[strings.Clone(ev.Host)]++
}

// write writes them as the config has them: where they may not be all, as a comment.
func (h *SiteNames) write(b *strings.Builder) {
	if len(h.Names) == 0 {
		return
	}
	mark := ""
	b.WriteString("\n# The names of the site, as the proxies have them. Each is judged for itself when the site\n# fails, and a Referer of another host is a foreign page's. One that lacks here is foreign, too.\n")
	if h.Unsure != "" {
		mark = "#"
		b.WriteString("# These may not be all (" + safetext.Strip(h.Unsure) + "): complete them first.\n")
	}
	b.WriteString(mark + "own_hosts:\n")
	for _, name := range h.Names {
		b.WriteString(mark + "  - " + yaml.Quote(name) + "\n")
	}
}
