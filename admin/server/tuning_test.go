package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

func (n *node) Unused() []admin.Unused { return []admin.Unused{{Rule: "gone", Why: "no such rule"}} }

// SetThreshold has the rule site alone.
func (n *node) SetThreshold(_ context.Context, rule, by string, r admin.ThresholdRequest) (uint32, *call.Problem) {
	if rule != "site" {
		return 0, call.NewProblem(http.StatusNotFound, "name", "unknown rule", "")
	}
	was := n.rules[0].Threshold
	n.rules[0].Threshold, n.rules[0].Overlay = r.Threshold, &admin.Overlay{Threshold: r.Threshold, Base: was, Since: start, By: by, Note: r.Note}
	if lasts, _ := call.ParseSpan(r.For); lasts > 0 {
		n.rules[0].Overlay.Until = start.Add(lasts)
	}
	return was, nil
}

func (n *node) EndOverlay(rule string) (was, now uint32, p *call.Problem) {
	o := n.rules[0].Overlay
	if rule != "site" || o == nil {
		return 0, 0, call.NewProblem(http.StatusNotFound, "name", "nothing to undo", "")
	}
	n.rules[0].Threshold, n.rules[0].Overlay = o.Base, nil
	return o.Threshold, o.Base, nil
}

// EndFleet is that of a node alone.
func (n *node) EndFleet(string, string, bool) (was, now uint32, p *call.Problem) {
	return 0, 0, call.NewProblem(http.StatusConflict, "scope", "no fleet", "")
}

func (n *node) FleetOffered() *call.Problem {
	return call.NewProblem(http.StatusConflict, "scope", "no fleet", "")
}

func (n *node) AddCandidate(rule, _ string, threshold uint32, _ string) *call.Problem {
	n.rules[0].Candidates = append(n.rules[0].Candidates, admin.Candidate{Threshold: threshold, Added: true})
	return nil
}

func (n *node) RemoveCandidate(string, uint32) *call.Problem {
	n.rules[0].Candidates = n.rules[0].Candidates[:1]
	return nil
}

// What a page undoes is as it was: a threshold that had an end has it again, and none after it.
func TestPageUndoesToTheEnd(t *testing.T) {
	n := newNode()
	b := browse(t, n)
	for _, row := range []struct {
		left time.Duration
		want uint32
	}{{time.Hour, 800}, {-time.Second, 2000}} {
		n.rules[0].Threshold, n.rules[0].Overlay = 800, &admin.Overlay{Threshold: 800, Base: 2000, Since: start, Until: start.Add(row.left)}
		b.open("/rules/site/threshold?threshold=900").submit("/rules/site/threshold")
		b.submit("/undo", "csrf", b.form.Get("csrf"), "id", b.form.Get("id"), "back", b.form.Get("back")).says(200, "The threshold of site is")
		if o := n.rules[0].Overlay; o.Threshold != row.want || o.Until.IsZero() != (row.left < 0) || row.left > 0 && !o.Until.Equal(start.Add(row.left)) {
			t.Errorf("with %v left it is %+v again", row.left, o)
		}
	}
}

// A change of a threshold answers with the rule as it is then, and the audit has
// who, old and new, and the note.
func TestTuning(t *testing.T) {
	n := newNode()
	changes, _ := changesOf(t, n)
	by := access.Caller{Role: access.Operator, Who: "ops-1"}
	set, p := changes.SetThreshold(t.Context(), by, "site", admin.ThresholdRequest{Threshold: 800, IfThreshold: 2000, Note: "ticket 4711", Force: true})
	if p != nil || set.Threshold != 800 || set.Overlay == nil || set.Overlay.By != "ops-1" || set.Overlay.Note != "ticket 4711" {
		t.Fatalf("set: %+v, %v", set, p)
	}
	tried, p := changes.AddCandidate(by, "site", 700, admin.CandidateRequest{Note: "trial"})
	if p != nil || len(tried.Candidates) != 2 {
		t.Errorf("tried: %+v, %v", tried, p)
	}
	if tried, p = changes.RemoveCandidate(by, "site", 700); p != nil || len(tried.Candidates) != 1 {
		t.Errorf("removed: %+v, %v", tried, p)
	}
	undone, p := changes.EndOverlay(by, "site")
	if p != nil || undone.Threshold != 2000 || undone.Overlay != nil {
		t.Errorf("undone: %+v, %v", undone, p)
	}
	var told []string
	for _, a := range n.allAudits() {
		told = append(told, a.Who+" "+a.Action+" "+a.Target+": "+a.Detail+" ("+a.Result+")")
	}
	want := "ops-1 threshold site: 2000 → 800, note: ticket 4711, forced (ok)\n" +
		"ops-1 add candidate site: 700, note: trial (ok)\nops-1 remove candidate site: 700 (ok)\nops-1 end overlay site: 800 → 2000 (ok)"
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("audit:\n%s\nwant\n%s", got, want)
	}
}

// What is not a change is refused before the node is asked, and recorded.
func TestTuningRefuses(t *testing.T) {
	n := newNode()
	changes, _ := changesOf(t, n)
	by := access.Caller{Role: access.Operator, Who: "ops-1"}
	for field, request := range map[string]admin.ThresholdRequest{
		"if_threshold": {Threshold: 800},
		"note":         {Threshold: 800, IfThreshold: 2000, Note: strings.Repeat("x", 257)},
	} {
		if _, p := changes.SetThreshold(t.Context(), by, "site", request); p == nil || p.Status != http.StatusBadRequest || p.Field != field {
			t.Errorf("%s: %v", field, p)
		}
	}
	if _, p := changes.AddCandidate(by, "site", 700, admin.CandidateRequest{Note: "a\u202eb"}); p == nil || p.Field != "note" {
		t.Errorf("a candidate's note: %v", p)
	}
	reader := access.Caller{Role: access.Reader, Who: "mallory"}
	_, set := changes.SetThreshold(t.Context(), reader, "site", admin.ThresholdRequest{Threshold: 800, IfThreshold: 2000})
	_, end := changes.EndOverlay(reader, "site")
	_, add := changes.AddCandidate(reader, "site", 700, admin.CandidateRequest{})
	_, remove := changes.RemoveCandidate(reader, "site", 700)
	for i, p := range []*call.Problem{set, end, add, remove} {
		if p == nil || p.Status != http.StatusForbidden {
			t.Errorf("a reader's change %d: %v", i, p)
		}
	}
	if n.rules[0].Threshold != 2000 || len(n.rules[0].Candidates) != 1 {
		t.Errorf("changed: %+v", n.rules[0])
	}
	if len(n.allAudits()) != 7 {
		t.Errorf("%d of 7 are recorded", len(n.allAudits()))
	}
}
