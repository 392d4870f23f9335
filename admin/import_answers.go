package admin

import (
	"fmt"
	"net/http"
	"slices"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// ImportAnswers answers what is asked of imports.
type ImportAnswers struct {
	read    func() Imports
	node    ImportOperator
	audited func(by access.Caller, action, target string, change func(detail *string) *call.Problem) *call.Problem
}

// newImportAnswers returns the answers of a node.
func newImportAnswers(read func() Imports, node ImportOperator, audited func(access.Caller, string, string, func(*string) *call.Problem) *call.Problem) *ImportAnswers {
	return &ImportAnswers{read, node, audited}
}

// List answers with the summary.
func (a *ImportAnswers) List(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, a.read())
	return nil
}

// Confirm puts in force what awaits confirmation under a name, and answers with the feed.
func (a *ImportAnswers) Confirm(w http.ResponseWriter, r *http.Request) *call.Problem {
	name := r.PathValue("name")
	if p := a.ConfirmImport(access.CallerOf(r), name); p != nil {
		return p
	}
	for _, f := range a.read().Feeds {
		if f.Name == name {
			call.SendJSON(w, http.StatusOK, f)
		}
	}
	return nil
}

// ConfirmImport puts in force what awaits confirmation under a name, if the caller may.
func (a *ImportAnswers) ConfirmImport(by access.Caller, name string) *call.Problem {
	return a.audited(by, "confirm import", call.Clip(name), func(*string) *call.Problem { return a.confirm(name) })
}

func (a *ImportAnswers) confirm(name string) *call.Problem {
	if !slices.ContainsFunc(a.read().Feeds, func(f ImportFeed) bool { return f.Name == name }) {
		return call.NewProblem(http.StatusNotFound, "name", fmt.Sprintf("%q is not a feed of imported blocks", call.Clip(name)), "`edgeguard imports` lists them")
	}
	return a.node.ConfirmImport(name)
}
