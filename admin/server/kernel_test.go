package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/server"
)

// filter is the packet filter of a node.
type filter struct {
	state admin.KernelState
	lasts time.Duration
	spare []netip.Addr
}

func (f *filter) Kernel() (admin.KernelState, *call.Problem) {
	if f.state.Table == "" {
		return admin.KernelState{}, call.NewProblem(http.StatusNotFound, "", "this node has no packet filter", "")
	}
	return f.state, nil
}

func (f *filter) set(state string) (admin.KernelState, *call.Problem) {
	f.state.State = state
	return f.Kernel()
}

func (f *filter) TryKernel(_ context.Context, lasts time.Duration, spare []netip.Addr) (admin.KernelState, *call.Problem) {
	f.lasts, f.spare = lasts, spare
	return f.set(admin.KernelTrial)
}

func (f *filter) ConfirmKernel() (admin.KernelState, *call.Problem) {
	return f.set(admin.KernelInForce)
}
func (f *filter) ResumeKernel() (admin.KernelState, *call.Problem) { return f.set(admin.KernelInForce) }

func (f *filter) PauseKernel(_ context.Context, why string) (admin.KernelState, *call.Problem) {
	f.state.Why = why
	return f.set(admin.KernelPaused)
}

// Operators put the packet filter on trial, confirm it, pause it and resume it, and each
// change is on record.
func TestKernel(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	if status, _ := s.write(t, http.MethodPost, "/api/v1/kernel/try", `{}`); status != http.StatusNotFound {
		t.Errorf("without a packet filter: %d", status)
	}
	n.state.Table = "edgeguard"
	client := s.overUnix(t)
	state, err := client.TryKernel(t.Context(), admin.TrialRequest{Spare: []string{"203.0.113.7", "::ffff:198.51.100.7"}})
	if err != nil || state.State != admin.KernelTrial || n.lasts != admin.DefaultTrial || !slices.Equal(n.spare, []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.7")}) {
		t.Errorf("%+v for %v, spared %v, %v", state, n.lasts, n.spare, err)
	}
	if a := s.lastAudit(); a.Action != "try kernel" || a.Detail != "for 5m0s, 2 addresses spared by name" || a.Result != "ok" {
		t.Errorf("audit %+v", a)
	}
	for _, c := range []struct{ change, want, action string }{
		{"confirm", admin.KernelInForce, "confirm kernel"}, {"clear", admin.KernelPaused, "pause kernel"}, {"resume", admin.KernelInForce, "resume kernel"},
	} {
		state, err := client.ChangeKernel(t.Context(), c.change)
		if a := s.lastAudit(); err != nil || state.State != c.want || a.Action != c.action {
			t.Errorf("%s: %+v, %v, audit %+v", c.change, state, err, a)
		}
		if seen, err := client.Kernel(t.Context()); err != nil || seen.State != c.want {
			t.Errorf("%s: seen %+v, %v", c.change, seen, err)
		}
	}
	if n.state.Why != fmt.Sprintf("cleared by an operator (uid %d)", os.Getuid()) {
		t.Errorf("paused because of %q", n.state.Why)
	}
	for body, field := range map[string]string{
		`{"for":"9s"}`: "for", `{"for":"61m"}`: "for", `{"for":"soon"}`: "for", `{"for":"-5m"}`: "for", `{"spare":["x"]}`: "spare", `{"spare":["203.0.113.0/24"]}`: "spare",
		`{"spare":["203.0.113.7"` + strings.Repeat(`,"203.0.113.7"`, admin.MostSpared) + `]}`: "spare", `{"more":1}`: "more",
	} {
		if status, p := s.write(t, http.MethodPost, "/api/v1/kernel/try", body); status != http.StatusBadRequest || p.Field != field {
			t.Errorf("%.40s: %d %+v", body, status, p)
		}
	}
}
