package crawlers

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"edgeguard"
)

const (
	mostAgents, mostFiles, mostDomains = 16, 8, 8
	leastText, longestText             = 3, 64
)

var (
	nameForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,31}$`)
	domainForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// clouds are domains in which anybody can rent a name.
	clouds = []string{"googleusercontent.com", "amazonaws.com", "azure.com", "cloudapp.net", "oraclecloud.com", "linode.com", "ovh.net", "your-server.de"}
)

// Check returns the field of a crawler that is wrong, and what is wrong with it.
// It lowers the letters of the domains.
func (s *Spec) Check() (field string, err error) {
	switch {
	case !nameForm.MatchString(s.Name):
		return "name", fmt.Errorf("invalid name %.40q; use up to 32 lower-case letters, digits, and - _ . between them", s.Name)
	case slices.Contains(edgeguard.CrawlerWords, s.Name):
		return "name", fmt.Errorf("%q has a meaning in rules; choose another name", s.Name)
	case len(s.Agents) == 0 || len(s.Agents) > mostAgents:
		return "agent", fmt.Errorf("has %d texts; name 1 to %d that its User-Agent contains", len(s.Agents), mostAgents)
	case len(s.Ranges) > mostFiles:
		return "ranges", fmt.Errorf("has %d files; use at most %d", len(s.Ranges), mostFiles)
	case len(s.DNS) > mostDomains:
		return "dns", fmt.Errorf("has %d domains; use at most %d", len(s.DNS), mostDomains)
	case len(s.Ranges)+len(s.DNS) == 0:
		return "ranges", errors.New("nothing can verify it; set ranges (files of its addresses) or dns (domains of its names)")
	}
	for _, agent := range s.Agents {
		if len(agent) < leastText || len(agent) > longestText || strings.ContainsFunc(agent, func(r rune) bool { return r < ' ' || r > '~' }) {
			return "agent", fmt.Errorf("invalid text %.80q; use %d to %d visible ASCII characters", agent, leastText, longestText)
		}
	}
	for _, file := range s.Ranges {
		if !strings.HasPrefix(file, "/") {
			return "ranges", fmt.Errorf("%.80q is not an absolute path; use a path such as /etc/edgeguard/googlebot.json", file)
		}
		if strings.Contains(path.Base(file), "user-triggered") {
			return "ranges", fmt.Errorf("%.80q lists fetchers that any user can send to any page; use the files of crawlers only", file)
		}
	}
	for i, domain := range s.DNS {
		s.DNS[i] = strings.ToLower(domain)
		if !domainForm.MatchString(s.DNS[i]) || len(domain) > 253 {
			return "dns", fmt.Errorf("invalid domain %.80q; use one such as googlebot.com, without a dot or a star before it", domain)
		}
		for _, cloud := range clouds {
			if within(s.DNS[i], cloud) || within(cloud, s.DNS[i]) {
				return "dns", fmt.Errorf("%s has the names of a cloud's customers; use the crawler's own domain", s.DNS[i])
			}
		}
	}
	return "", nil
}

// within reports whether a name is a domain or lies in it: a dot must precede it.
// evilgooglebot.com does not lie in googlebot.com.
func within(name, domain string) bool {
	name = strings.TrimSuffix(name, ".")
	at := len(name) - len(domain)
	return at >= 0 && strings.EqualFold(name[at:], domain) && (at == 0 || name[at-1] == '.')
}
