package cloudtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The account, list and token that Cloudflare knows; the identifiers are those of its
// documentation.
const (
	Account = "023e105f4ecef8ad9ca31a8372d0c353"
	List    = "2c0fc9fa937b11eaa1b71c4d701ab86e"
	Token   = "Sn3lZJTBX6kkg7OdcBUAxOO963GEIyGQqnFTOFYY"
)

// item is one of the list.
type item struct {
	ID       string `json:"id"`
	IP       string `json:"ip"`
	Comment  string `json:"comment,omitempty"`
	Created  string `json:"created_on"`
	Modified string `json:"modified_on"`
}

// Cloudflare answers as the Lists API does
// (https://developers.cloudflare.com/api/resources/rules/subresources/lists/). A change
// is made when its operation has been looked at Looks times.
type Cloudflare struct {
	URL         string
	Looks       int
	Kind        string
	Description string
	faults
	t testing.TB

	state   sync.Mutex // guards all below
	items   []item
	gone    bool
	made    int // identifiers
	pending *change
	ended   map[string]*change
	failure string // of the next operation
}

// change is an operation.
type change struct {
	id, failure string
	looks       int
	do          func()
}

// NewCloudflare starts a server with an empty list.
func NewCloudflare(t testing.TB) *Cloudflare {
	c := &Cloudflare{t: t, Kind: "ip", Looks: 1, ended: make(map[string]*change), faults: faults{next: make(map[string][]Fault)}}
	server := httptest.NewServer(c)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	c.URL = server.URL + "/client/v4"
	return c
}

// Items returns the list's addresses with their comments.
func (c *Cloudflare) Items() map[string]string {
	c.state.Lock()
	defer c.state.Unlock()
	all := make(map[string]string)
	for _, i := range c.items {
		all[i.IP] = i.Comment
	}
	return all
}

// Put puts an item into the list, as another program does.
func (c *Cloudflare) Put(ip, comment string) {
	c.state.Lock()
	defer c.state.Unlock()
	c.put(item{IP: ip, Comment: comment})
}

// put puts items into the list; those of the same addresses are replaced. It needs the
// lock.
func (c *Cloudflare) put(items ...item) {
	news := make(map[string]bool)
	for _, i := range items {
		news[i.IP] = true
	}
	c.take(func(i item) bool { return news[i.IP] })
	for _, i := range items {
		c.made++
		c.items = append(c.items, item{ID: fmt.Sprintf("%032x", c.made), IP: i.IP, Comment: i.Comment, Created: "2020-01-01T08:00:00Z", Modified: "2020-01-10T14:00:00Z"})
	}
}

// take removes items; it needs the lock.
func (c *Cloudflare) take(which func(item) bool) {
	kept := c.items[:0:0]
	for _, i := range c.items {
		if !which(i) {
			kept = append(kept, i)
		}
	}
	c.items = kept
}

// Gone deletes the list.
func (c *Cloudflare) Gone() {
	c.state.Lock()
	defer c.state.Unlock()
	c.gone = true
}

// FailNext has the next operation fail, after it was begun.
func (c *Cloudflare) FailNext(text string) {
	c.state.Lock()
	defer c.state.Unlock()
	c.failure = text
}

// Busy begins a change of somebody else's, which ends after so many refusals of others.
func (c *Cloudflare) Busy(refusals int) {
	c.state.Lock()
	defer c.state.Unlock()
	c.pending = &change{id: "another", looks: refusals, do: func() {}}
}

// Denied reports whether the list has an address.
func (c *Cloudflare) Denied(t testing.TB, addr netip.Addr) bool {
	var all []string
	for ip := range c.Items() {
		all = append(all, ip)
	}
	return holds(t, all, addr)
}

func (c *Cloudflare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/client/v4/accounts/"+Account+"/rules/lists/")
	where := strings.Replace(path, List, "list", 1)
	if strings.HasPrefix(where, "bulk_operations/") {
		where = "bulk_operations"
	}
	operation := r.Method + " " + where
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if c.fails(w, r, operation, func() { c.do(r, operation, path, body) }) {
		return
	}
	status, result, code, text := http.StatusForbidden, any(nil), 10000, "Authentication error"
	info := map[string]any{}
	if r.Header.Get("Authorization") == "Bearer "+Token {
		status, result, code, text, info = c.do(r, operation, path, body)
	}
	errors := []any{}
	if code != 0 {
		errors = append(errors, map[string]any{"code": code, "message": text})
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": code == 0, "errors": errors, "messages": []any{}, "result": result, "result_info": info})
}

func (c *Cloudflare) do(r *http.Request, operation, path string, body []byte) (status int, result any, code int, text string, info map[string]any) {
	c.state.Lock()
	defer c.state.Unlock()
	if c.gone && operation != "GET bulk_operations" {
		return http.StatusNotFound, nil, 10001, "could not find list", nil
	}
	switch operation {
	case "GET list":
		return http.StatusOK, map[string]any{"id": List, "name": "edgeguard", "description": c.Description, "kind": c.Kind, "num_items": len(c.items), "num_referencing_filters": 1,
			"created_on": "2020-01-01T08:00:00Z", "modified_on": "2020-01-10T14:00:00Z"}, 0, "", nil
	case "GET list/items":
		return c.page(r)
	case "POST list/items":
		var items []item
		if err := json.Unmarshal(body, &items); err != nil || len(items) == 0 {
			return http.StatusBadRequest, nil, 10025, "invalid body", nil
		}
		for _, i := range items {
			if !valid(i.IP) {
				return http.StatusBadRequest, nil, 10024, "invalid ip: " + i.IP, nil
			}
		}
		return c.begin(func() { c.put(items...) })
	case "DELETE list/items":
		var in struct{ Items []item }
		if err := json.Unmarshal(body, &in); err != nil || len(in.Items) == 0 {
			return http.StatusBadRequest, nil, 10025, "invalid body", nil
		}
		ids := make(map[string]bool)
		for _, i := range in.Items {
			ids[i.ID] = true
		}
		return c.begin(func() { c.take(func(i item) bool { return ids[i.ID] }) })
	case "GET bulk_operations":
		return c.progress(strings.TrimPrefix(path, "bulk_operations/"))
	}
	return http.StatusNotFound, nil, 7003, "Could not route to " + r.URL.Path + ", perhaps your object identifier is invalid?", nil
}

// valid reports whether an item's address is of the documented widths.
func valid(text string) bool {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Zone() == ""
	}
	p, err := netip.ParsePrefix(text)
	return err == nil && p == p.Masked() && (p.Addr().Is4() && p.Bits() >= 8 || p.Addr().Is6() && p.Bits() >= 12)
}

// page returns some items, with the cursor of the next.
func (c *Cloudflare) page(r *http.Request) (int, any, int, string, map[string]any) {
	most, err := strconv.Atoi(r.URL.Query().Get("per_page"))
	if err != nil || most < 1 || most > 500 {
		return http.StatusBadRequest, nil, 10028, "invalid per_page", nil
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "at+/="))
	from = min(from, len(c.items))
	to := min(from+most, len(c.items))
	cursors := map[string]string{}
	if to < len(c.items) {
		cursors["after"] = "at+/=" + strconv.Itoa(to)
	}
	return http.StatusOK, append([]item{}, c.items[from:to]...), 0, "", map[string]any{"cursors": cursors}
}

// begin begins an operation, unless another is under way.
func (c *Cloudflare) begin(do func()) (int, any, int, string, map[string]any) {
	if p := c.pending; p != nil {
		if p.looks--; p.looks >= 0 {
			return http.StatusTooManyRequests, nil, 10040, "a bulk operation is already in progress", nil
		}
		c.end(p)
	}
	c.made++
	c.pending = &change{id: fmt.Sprintf("4da8780eeb215e6cb7f48dd981c4%04x", c.made), looks: c.Looks, do: do, failure: c.failure}
	c.failure = ""
	return http.StatusOK, map[string]string{"operation_id": c.pending.id}, 0, "", nil
}

// end ends the operation under way.
func (c *Cloudflare) end(p *change) {
	if p.failure == "" {
		p.do()
	}
	c.ended[p.id], c.pending = p, nil
}

// progress returns the state of an operation, which goes on by being looked at.
func (c *Cloudflare) progress(id string) (int, any, int, string, map[string]any) {
	if p := c.pending; p != nil && p.id == id {
		if p.looks--; p.looks > 0 {
			return http.StatusOK, map[string]string{"id": id, "status": "running"}, 0, "", nil
		}
		c.end(p)
	}
	p := c.ended[id]
	switch {
	case p == nil:
		return http.StatusNotFound, nil, 10001, "could not find operation", nil
	case p.failure != "":
		return http.StatusOK, map[string]string{"id": id, "status": "failed", "completed": "2020-01-01T08:00:00Z", "error": p.failure}, 0, "", nil
	}
	return http.StatusOK, map[string]string{"id": id, "status": "completed", "completed": "2020-01-01T08:00:00Z"}, 0, "", nil
}
