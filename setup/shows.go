package setup

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
)

// sign is an answer that one application gives, and a site without it does not.
type sign struct {
	application application
	says        string // what was answered, in words
	method      string // empty: any
	in          []string
	ends        []string // of the path; nil: any
	statuses    []uint16
}

// application is a program, or a kind of them, that has rules of its own.
type application uint8

const (
	wordPress application = iota
	joomla
	api
	applications
)

// name returns the application's name, with its article where it needs one.
func (a application) name() string { return [...]string{"WordPress", "Joomla", "an API"}[a] }

// signs lists what shows an application. WordPress and Joomla have several signs, of which two must be seen: a scanner's list has
// the addresses of all logins, and any site may answer one of them. What any site of
// scripts answers, as /index.php with a query of Joomla's, is none. Joomla must show a file
// of its own: another application at /administrator/ answers as its login does, and the rules
// for Joomla would take that one's forms for guessed passwords.
var signs = []sign{
	{wordPress, "its login page", "GET", []string{"/wp-login.php"}, nil, []uint16{200}},
	{wordPress, "logins", "POST", []string{"/wp-login.php"}, nil, []uint16{302}},
	{wordPress, "pages of wp-admin", "", []string{"/wp-admin/"}, nil, []uint16{200, 302}},
	{wordPress, "XML-RPC", "POST", []string{"/xmlrpc.php"}, nil, []uint16{200}},
	{wordPress, "that XML-RPC takes no GET", "GET", []string{"/xmlrpc.php"}, nil, []uint16{405}},
	{wordPress, "styles and scripts of wp-content", "GET", []string{"/wp-content/", "/wp-includes/"}, []string{".css", ".js"}, []uint16{200, 304}},
	{joomla, "its login page", "GET", []string{"/administrator/"}, []string{"/administrator/", "/administrator/index.php"}, []uint16{200}},
	{joomla, "logins and saves", "POST", []string{"/administrator/index.php"}, nil, []uint16{303}},
	{joomla, "its scripts", "GET", []string{"/media/system/js/", "/media/jui/js/", "/media/vendor/"}, []string{".js"}, []uint16{200, 304}},
	{joomla, "styles and scripts of its modules", "GET", []string{"/modules/mod_", "/components/com_", "/media/mod_", "/media/com_", "/media/templates/"}, []string{".css", ".js"}, []uint16{200, 304}},
	{api, "calls", "", []string{"/api/", "/rest/", "/graphql", "/v1/", "/v2/", "/v3/"}, nil, []uint16{200, 201, 204}},
}

// fewCalls is from how many answered calls on there is an API: a few are anybody's script.
const fewCalls = 20

// decoys are in no site, or answered by none. A status that one of them gets says nothing:
// the site answers so whatever is asked for.
var decoys = []string{"/.env", "/.git/config", "/.git/HEAD", "/.aws/credentials", "/wp-config.php.bak", "/phpunit/", "/HNAP1", "/boaform/"}

// shown is how often each sign was seen with each status, and which statuses say nothing.
type shown struct {
	seen  map[seen]int
	empty map[uint16]bool
	hosts map[string]int // served pages by host, as clients named it
}

type seen struct {
	sign   int
	status uint16
}

// noteAnswer takes one answer.
func (s *shown) noteAnswer(ev *edgeguard.Event) {
	s.noteHost(ev)
	const need = edgeguard.FieldPath | edgeguard.FieldMethod | edgeguard.FieldStatus
	if ev.Known&need != need {
		return
	}
	if s.seen == nil {
		s.seen, s.empty = make(map[seen]int), make(map[uint16]bool)
	}
	path, _, _ := strings.Cut(ev.Path, "?")
	in := func(part string) bool { return strings.Contains(path, part) }
	if slices.ContainsFunc(decoys, in) {
		s.empty[ev.Status] = true
		return
	}
	for i := range signs {
		if signs[i].fits(ev, path) {
			s.seen[seen{i, ev.Status}]++
		}
	}
}

// fits reports whether an answer is the sign.
func (s *sign) fits(ev *edgeguard.Event, path string) bool {
	if s.method != "" && s.method != ev.Method || !slices.Contains(s.statuses, ev.Status) {
		return false
	}
	in := func(part string) bool {
		if s.application == api {
			return strings.HasPrefix(ev.Path, part)
		}
		return strings.Contains(ev.Path, part)
	}
	return slices.ContainsFunc(s.in, in) && (s.ends == nil || slices.ContainsFunc(s.ends, func(end string) bool { return strings.HasSuffix(path, end) }))
}

// of returns what was answered of an application, in words; empty if it is not there.
func (s *shown) of(a application) string {
	var says []string
	calls, files := 0, false
	for i := range signs {
		n := 0
		for _, status := range signs[i].statuses {
			if !s.empty[status] {
				n += s.seen[seen{i, status}]
			}
		}
		if n > 0 && signs[i].application == a {
			says = append(says, fmt.Sprintf("%s (%d)", signs[i].says, n))
			calls += n
			files = files || slices.Contains(signs[i].ends, ".js")
		}
	}
	if a == api && calls < fewCalls || a != api && len(says) < 2 || a == joomla && !files {
		return ""
	}
	return strings.Join(says, ", ")
}

// Choice is what the logs say of the preset of one application.
type Choice struct {
	Preset string
	// Why names the log that shows the application and what it answered; empty if none does.
	Why string
	// Unseen says what is done if none does.
	Unseen string
}

// unseen is what is done about the preset of an application that no log shows.
var unseen = [...]Choice{
	{Preset: "wordpress", Unseen: "no log shows WordPress: who looks for its login is an attacker"},
	{Preset: "joomla", Unseen: "no log shows Joomla: only its own login page counts"},
	{Preset: "api", Unseen: "not chosen: no log shows an API"},
}

// Choices returns what the logs that are counted say of each application that has presets
// of its own.
func Choices(sources []Source) []Choice {
	var all []Choice
	for a := range applications {
		c := unseen[a]
		c.Why = showingLog(sources, a)
		all = append(all, c)
	}
	return all
}

// showingLog returns the first log that shows an application, with what it answered.
func showingLog(sources []Source, a application) string {
	for i := range sources {
		if s := &sources[i]; s.Follow {
			if says := s.shows.of(a); says != "" {
				return s.File + " has answers of " + a.name() + ": " + says
			}
		}
	}
	return ""
}
