package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// crowdPath returns the page that asks before who came to a crowd is blocked.
func crowdPath(id, back string) string {
	return "/block?" + url.Values{"of": {id}, "back": {back}}.Encode()
}

// isCrowd reports whether the page is about blocking all who came to a crowd, by one change.
func (a *actPage) isCrowd() bool { return a.Action == "block" && a.Of != "" }

// bulk is the import of who came to the crowd.
func (a *actPage) bulk() *admin.BulkRequest {
	span, until := a.span()
	all := new(admin.BulkRequest)
	for i := range a.crowd {
		all.Blocks = append(all.Blocks, admin.BulkEntry{Prefix: a.crowd[i].Prefix.String(), For: span, Until: until, Reason: a.Note})
	}
	return all
}

// planCrowd finds out what blocking a crowd would do. The form carries when that was seen: who came later is not of it.
func (p *actHandlers) planCrowd(r *http.Request, a *actPage) {
	until := p.reader.Now()
	if seen, err := time.Parse(time.RFC3339Nano, r.PostForm.Get("seen")); r.Method == http.MethodPost && err == nil && seen.Before(until) {
		until = seen
	}
	a.Seen = until.UTC().Format(time.RFC3339Nano)
	came := p.view.Comers(r.Context(), a.Of, until)
	a.crowd = slices.DeleteFunc(slices.Clone(came), admin.Comer.MayBeWanted)
	if len(a.crowd) == 0 && len(came) > 0 {
		a.refuseField(http.StatusConflict, "prefix", "all of them succeeded, or were served pages of the site before, and may be customers", "look at the attack, and block those that you mean")
		return
	}
	if len(came) == 0 {
		a.refuseField(http.StatusNotFound, "prefix", "it is not known any more who came", "look at the attacks")
		return
	}
	if _, problem := a.until(); problem != nil {
		a.refuse(problem)
		return
	}
	would := p.changes.PreviewImport(a.bulk())
	if would.Added == 0 {
		a.refuseField(http.StatusConflict, "prefix", fmt.Sprintf("none of them can be blocked: %s are blocked as long, %s are refused", words.Number(would.Stays), words.Number(would.Refused)), "look at who is blocked")
		return
	}
	a.Ready, a.Name, a.Mean = true, words.Plural(would.Added, "address", "addresses"), true
	a.stress(fmt.Sprintf("All that %s send will be refused", a.Name))
	a.say(fmt.Sprintf(" %s, about %s of all requests of the last five minutes.", reach(&a.stats), words.PercentShare(would.Spent)))
	if would.Stays > 0 {
		a.say(fmt.Sprintf(" %s are blocked already, as long.", upper(words.Number(would.Stays))))
	}
	if would.Refused > 0 {
		a.say(fmt.Sprintf(" %s cannot be blocked: they are protected, or would refuse too much.", upper(words.Number(would.Refused))))
	}
	a.nameWanted(slices.DeleteFunc(came, func(m admin.Comer) bool { return !m.MayBeWanted() }))
}

// nameWanted names those that are left out.
func (a *actPage) nameWanted(wanted []admin.Comer) {
	if len(wanted) == 0 {
		a.say(" None of them succeeded, or was served pages of the site before, as far as this node knows.")
		return
	}
	text := words.Plural(len(wanted), "member is", "members are") + " left out, who succeeded or were served pages of the site before, and may be customers:"
	for i := range wanted[:min(len(wanted), mostSampled)] {
		text += " " + shortest(wanted[i].Prefix)
	}
	if more := len(wanted) - mostSampled; more > 0 {
		text += " and " + words.Number(more) + " more"
	}
	a.Warns = append(a.Warns, text)
}

// blockCrowd blocks who came to the crowd.
func (p *actHandlers) blockCrowd(r *http.Request, a *actPage) *outcome {
	done, problem := p.changes.Import(access.CallerOf(r), a.bulk(), false)
	if problem != nil {
		a.refuse(problem)
		return nil
	}
	text := fmt.Sprintf("%s blocked %s.", words.Plural(done.Added, "address is", "addresses are"), reach(&a.stats))
	ctx := context.WithoutCancel(r.Context())
	undo := func(by access.Caller) (string, *call.Problem) {
		lifted, problem := p.changes.UnblockMany(ctx, by, &admin.Selection{BlockFilter: admin.BlockFilter{Batch: done.Batch}, Seen: p.reader.Now()}, "undone", false)
		return words.Plural(lifted.Lifted, "address is", "addresses are") + " unblocked.", problem
	}
	return &outcome{Text: text, deeds: []deed{{text: text, undo: undo}}, back: a.backOr()}
}
