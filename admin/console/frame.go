package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/internal/words"
)

// frame is what every page shows around its own content.
type frame struct {
	Title   string
	Theme   string // "light" or "dark"; empty follows the system
	Path    string // of the page, to reload it
	Node    string
	Version string
	Now     moment
	Monitor bool
	Links   []link // the places
	Parts   []link // the pages of the place that this page is in
	Health  []healthPart
	Banners []banner
	Me      me
	Notice  *notice     // what came of the last form
	May     bool        // the caller may change the node
	stats   admin.Stats // read once for a page
	needs   int         // how many alarms need somebody, also those without a banner
	status  int         // of HTTP; 0 for OK
}

// me is who looks at a page.
type me struct {
	Name      string // empty where only the role is known
	Role      string // empty without a login
	Session   bool   // it can be ended here
	Form      string // the token of forms
	LoginPath string
}

func whoLooks(r *http.Request) me {
	c := access.CallerOf(r)
	m := me{Form: access.FormToken(r), LoginPath: "/login?next=" + url.QueryEscape(r.URL.RequestURI())}
	if c.Role >= access.Reader {
		m.Name, m.Role, m.Session = person(c.User), c.Role.String(), c.Way == access.BySession
	}
	return m
}

// link is an entry of the navigation. Count is empty where it says nothing.
type link struct {
	Name, Path, Count string
	Current           bool
}

// frames makes the frame of each page.
type frames struct {
	reader     admin.Reader
	outcomes   *outcomes // what came of the last form is shown in the frame
	changeable bool      // by callers who may
}

// of returns the frame of a page.
func (f *frames) of(r *http.Request, page, title string) frame {
	stats := f.reader.Stats()
	return f.with(r, &stats, page, title)
}

// answered returns the status of the page's answer.
func (f *frame) answered() int { return cmp.Or(f.status, http.StatusOK) }

// with returns the frame of a page whose figures are read already.
func (f *frames) with(r *http.Request, stats *admin.Stats, page, title string) frame {
	made := frame{
		Title: title, Path: here(r), Node: stats.Node, Version: stats.Version, Monitor: stats.Monitor,
		Now: at(stats.Time, stats.Time), Me: whoLooks(r), stats: *stats,
		May: f.changeable && access.CallerOf(r).Role >= access.Operator,
	}
	if chosen, err := r.Cookie("edgeguard-theme"); err == nil && (chosen.Value == "light" || chosen.Value == "dark") {
		made.Theme = chosen.Value
	}
	made.Links, made.Parts = navigation(stats, page)
	made.Health = healthLine(stats)
	made.Banners, made.needs = banners(stats)
	for i := range made.Banners {
		if b := &made.Banners[i]; b.Link == made.Path {
			b.Link = ""
		}
	}
	made.Notice = f.outcomes.notice(r, &made)
	return made
}

// here returns the address of a page without the outcome that it shows.
func here(r *http.Request) string {
	q := r.URL.Query()
	if !q.Has("done") {
		return r.URL.RequestURI()
	}
	q.Del("done")
	u := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return u.RequestURI()
}

// navigation returns the five places, and the pages of the one that a page is in. A page is
// named by its path.
func navigation(stats *admin.Stats, page string) (all, parts []link) {
	blocked := []link{{Name: "Blocked now", Path: "/blocked"}, {Name: "Near a limit", Path: "/blocked/near"}}
	health := []link{{Name: "All parts", Path: "/health"}}
	if f := stats.Fleet; f != nil || len(stats.Elsewhere) > 0 {
		blocked = append(blocked, link{Name: "Awaiting confirmation", Path: "/blocked/held"})
		if f != nil && f.Held > 0 {
			blocked[2].Count = words.Number(f.Held)
		}
	}
	if f := stats.Fleet; f != nil {
		health = append(health, link{Name: "Fleet", Path: "/fleet", Count: words.Number(f.Alive)})
	}
	if hasNeighbours(stats) {
		one := link{Name: "Neighbours", Path: "/neighbours"}
		if n := awaiting(stats); n > 0 {
			one.Count = words.Number(n)
		}
		health = append(health, one)
	}
	for _, place := range []struct {
		link
		pages []link
	}{
		{link{Name: "Now", Path: "/"}, []link{{Name: "Now", Path: "/"}, {Name: "Changes", Path: "/changes"}}},
		{link{Name: "Blocked", Path: "/blocked", Count: words.Number(stats.V4 + stats.V6)}, blocked},
		{link{Name: "Rules", Path: "/rules"}, nil},
		{link{Name: "Allowed", Path: "/allowed"}, nil},
		{link{Name: "Health", Path: "/health"}, health},
	} {
		is := func(l link) bool { return l.Path == "/"+page }
		if at := slices.IndexFunc(place.pages, is); at >= 0 {
			place.pages[at].Current, place.Current, parts = true, true, place.pages
		}
		place.Current = place.Current || is(place.link)
		all = append(all, place.link)
	}
	return all, parts
}

// moment is an instant as a page shows it.
type moment struct {
	Machine string // RFC 3339
	Clock   string // 12:04:31, with the date if it is not today's
	Ago     string // 3 min ago
}

// at returns an instant beside the present one.
func at(t, now time.Time) moment {
	t, now = t.UTC(), now.UTC()
	m := moment{Machine: t.Format(time.RFC3339), Clock: t.Format("15:04:05")}
	if t.Truncate(24*time.Hour) != now.Truncate(24*time.Hour) {
		m.Clock = t.Format("2 Jan 2006 15:04:05")
	}
	if d := now.Sub(t); d >= 0 {
		m.Ago = words.Length(d) + " ago"
	} else {
		m.Ago = "in " + words.Length(-d)
	}
	return m
}
