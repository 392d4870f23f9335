package console

import (
	"html/template"
	"net/http"
	"strings"

	"edgeguard/help"
)

// key is a key of the keyboard and what it does, where scripts are on.
type key struct{ Key, Does string }

var shortcuts = []key{
	{"/", "search"}, {"j", "next row"}, {"k", "row before"}, {"Enter", "open the row"}, {"u", "unblock what the row or the page is about; it asks first"},
	{".", "show newer blocks"}, {"g n", "Now"}, {"g b", "Blocked"}, {"g r", "Rules"}, {"g a", "Allowed"}, {"g h", "Health"}, {"t", "light or dark"}, {"?", "this page"},
}

// helpUnder is where the pages of docs are.
const helpUnder = "/help/"

// helpPage is how to use the console, the map of the pages of docs, and what has the words
// that were searched.
type helpPage struct {
	frame
	Keys  []key
	Map   template.HTML
	Asked string
	Found []foundSection
}

// foundSection is a section of the pages of docs that has what was searched.
type foundSection struct{ Title, Path, Line string }

func (p *nodeHandlers) help(_ http.ResponseWriter, r *http.Request) (string, any) {
	pages, _ := help.Find(help.Map)
	shown := &helpPage{frame: p.frames.of(r, "help", "Help"), Keys: shortcuts, Map: pages.HTML(helpUnder), Asked: strings.TrimSpace(r.URL.Query().Get("q"))}
	const most = 20
	for _, f := range help.Search(shown.Asked, most) {
		title := f.Page.Title
		if f.Heading != title {
			title += ": " + f.Heading
		}
		shown.Found = append(shown.Found, foundSection{title, helpUnder + f.Topic(), f.Line})
	}
	return "help.html", shown
}

// readPage shows a page of docs.
func (p *nodeHandlers) readPage(_ http.ResponseWriter, r *http.Request) (string, any) {
	page, _ := help.Find(r.PathValue("page"))
	if page == nil || page.Name != r.PathValue("page") {
		return "", &notFound{Text: "There is no page " + r.URL.Path + ".", Fix: "Help lists all pages, and searches them."}
	}
	return "doc.html", &struct {
		frame
		Text template.HTML
	}{p.frames.of(r, "help", page.Title), page.HTML(helpUnder)}
}
