package console

import "net/http"

// key is a key of the keyboard and what it does, where scripts are on.
type key struct{ Key, Does string }

var shortcuts = []key{
	{"/", "search"}, {"j", "next row"}, {"k", "row before"}, {"Enter", "open the row"}, {"u", "unblock what the row or the page is about; it asks first"},
	{".", "show newer blocks"}, {"g n", "Now"}, {"g b", "Blocked"}, {"g r", "Rules"}, {"g a", "Allowed"}, {"g h", "Health"}, {"t", "light or dark"}, {"?", "this page"},
}

// manual are the pages of docs that are read beside the console, and for what.
var manual = []key{
	{"console.md", "what each page says, and who may see it"}, {"operations.md", "running a node: logs, lists, alerts with what to do"}, {"rules.md", "what a rule counts, and what it does"},
	{"tuning.md", "which threshold is right"}, {"configuration.md", "each key of the config"}, {"fleet.md", "several nodes, and what waits for a confirmation"}, {"api.md", "the same for programs"},
	{"glossary.md", "the words"},
}

// help is how to use the pages, and where to read more.
func (p *nodeHandlers) help(_ http.ResponseWriter, r *http.Request) (string, any) {
	return "help.html", &struct {
		frame
		Keys, Manual []key
	}{p.frames.of(r, "help", "Help"), shortcuts, manual}
}
