package console

import (
	"net/http"

	"edgeguard/admin/access"
)

// neighboursPage is the systems beside the node.
type neighboursPage struct {
	frame
	neighboursView
	Once string
}

func (p *Pages) neighbours(_ http.ResponseWriter, r *http.Request) (string, any) {
	f := p.frame(r, "neighbours", "Neighbours")
	return "neighbours.html", &neighboursPage{f, newNeighboursView(&f.stats), newID()}
}

// confirmList puts the list in force that awaits confirmation, if it is the one that was
// shown.
func (p *Pages) confirmList(w http.ResponseWriter, r *http.Request) (string, any) {
	if p.changes == nil {
		return "", &notFound{Text: "Nothing can be changed here.", Fix: "Log in as an operator."}
	}
	name := r.PostForm.Get("name")
	o := p.outcomes.once(knownID(r.PostForm.Get("once"))+name, p.reader.Now(), func() *ownOutcome {
		o, before := &ownOutcome{Text: "The newest list of " + name + " is in force.", back: "/neighbours"}, p.reader.Imports()
		problem := confirmProblem(&before, name, r.PostForm.Get("seen"))
		if problem == nil {
			problem = p.changes.ConfirmImport(access.CallerOf(r), name)
		}
		if problem != nil {
			o.Text, o.Failed = "Nothing was changed.", []failure{{Name: name, Path: "/neighbours", Problem: problem}}
		}
		return o
	})
	o.show(w, r)
	return "", nil
}
