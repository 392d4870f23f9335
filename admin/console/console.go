// Package console makes the web pages of a node from what its admin API answers. The
// pages are made on the server and work without JavaScript; they show what the API
// shows, from the same functions.
//
// Every text that a client or another node wrote goes through html/template,
// which escapes it by its place. The content security policy forbids scripts and
// styles inside a page.
package console

import (
	"embed"
	"maps"
	"net/http"

	"edgeguard/admin"
	"edgeguard/admin/access"
)

//go:embed templates assets thirdparty
var files embed.FS

// Pages are the pages of a node. They are safe for concurrent use: what they
// remember is all in outcomes. Make them with [New].
type Pages struct {
	assets   assetFiles
	layout   *layout
	outcomes *outcomes

	// Those that read.
	node      nodeHandlers
	blocks    blockHandlers
	addresses addressHandlers
	rules     ruleHandlers
	lists     listHandlers

	// Those that change something, too.
	acts       actHandlers
	thresholds thresholdHandlers
	neighbours neighbourHandlers
}

// New returns the pages that show a view and offer changes; none where changes is nil.
func New(view *admin.View, changes *admin.Changes) *Pages {
	reader, assets := view.Reader(), newAssets(files, "assets/*", "thirdparty/*/*")
	made := &outcomes{now: reader.Now}
	frames := &frames{reader: reader, outcomes: made, changeable: changes != nil}
	return &Pages{
		assets: assets, layout: newLayout(frames, assets), outcomes: made,
		node:       nodeHandlers{frames, reader, view},
		blocks:     blockHandlers{frames, reader, view},
		addresses:  addressHandlers{frames, reader, view},
		rules:      ruleHandlers{frames, reader, view},
		lists:      listHandlers{frames, reader},
		acts:       actHandlers{frames, reader, view, changes, made},
		thresholds: thresholdHandlers{frames, reader, view, changes, made},
		neighbours: neighbourHandlers{frames, reader, changes, made},
	}
}

// moved are addresses of pages of former versions, which people have kept, and where the pages are.
var moved = map[string]string{"/near": "/blocked/near", "/held": "/blocked/held", "/activity": "/changes?kind=all", "/about": "/health#node"}

// Routes returns the pages and their files by the patterns of http.ServeMux.
func (p *Pages) Routes() map[string]http.Handler {
	routes := map[string]http.Handler{"GET /console/assets/{version}/{name}": p.assets}
	for pattern, answer := range map[string]page{
		"GET /{$}":                      p.node.now,
		"GET /":                         missing,
		"GET /welcome":                  p.node.welcome,
		"GET /find":                     p.blocks.find,
		"GET /changes":                  p.node.changes,
		"GET /help":                     p.node.help,
		"GET /help/{page...}":           p.node.readPage,
		"GET /fleet":                    p.node.fleet,
		"GET /health":                   p.node.health,
		"GET /blocked":                  p.blocks.blocked,
		"GET /blocked/near":             p.rules.near,
		"GET /blocked/held":             p.lists.held,
		"GET /network/{prefix...}":      p.blocks.network,
		"GET /attacks/{id}":             p.blocks.attack,
		"GET /address/{address}":        p.addresses.address,
		"GET /rules":                    p.rules.rules,
		"GET /rules/{name}":             p.rules.rule,
		"GET /rules/{name}/threshold":   p.thresholds.askThreshold,
		"POST /rules/{name}/threshold":  p.thresholds.setThreshold,
		"POST /rules/{name}/candidates": p.thresholds.changeCandidate,
		"POST /rules/{name}/overlay":    p.thresholds.endOverlay,
		"GET /allowed":                  p.lists.allowed,
		"GET /neighbours":               p.neighbours.neighbours,
		"POST /neighbours":              p.neighbours.confirmList,
		"POST /undo":                    p.outcomes.undo,
	} {
		routes[pattern] = p.layout.html(answer)
	}
	for old, to := range moved {
		routes["GET "+old] = http.RedirectHandler(to, http.StatusMovedPermanently)
	}
	for name := range actions {
		routes["GET /"+name], routes["POST /"+name] = p.layout.html(p.acts.ask(name)), p.layout.html(p.acts.act(name))
	}
	maps.Copy(routes, access.LoginRoutes(func(w http.ResponseWriter, r *http.Request, status int, name string, shown any) {
		p.layout.send(w, r, status, name, "bare.html", shown)
	}))
	return routes
}
