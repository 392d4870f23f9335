package httpauth

import (
	"fmt"
	"net/netip"
	"runtime/debug"
	"time"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
)

// asker turns a client and its request into a verdict. It is safe for concurrent use.
type asker struct {
	config Config
	finder *clientaddr.Finder // by the config's header
	stats  counters
}

func newAsker(c Config) (*asker, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	finder, err := clientaddr.NewFinder(c.Trust, c.Header)
	if err != nil {
		return nil, err
	}
	return &asker{config: c, finder: finder}, nil
}

// place fills in the client of the event.
func (a *asker) place(event *edgeguard.Event, peer netip.Addr, client clientaddr.Client) {
	event.Addr, event.Named = client.Addr, client.FromHeader()
	event.Proxied = client.Hops > 1 || client.Hops == 1 && (a.config.Fronted || !onThisHost(peer))
	if !a.config.LookUp {
		event.Kind, event.Verified = edgeguard.KindRequest, edgeguard.KindRequest
	}
}

// onThisHost reports whether the peer's own peers are those of this kernel.
func onThisHost(peer netip.Addr) bool { return !peer.IsValid() || peer.IsLoopback() }

// decide asks for the verdict at the instant now; a panic on the way is a pass.
func (a *asker) decide(now time.Time, event *edgeguard.Event) (verdict edgeguard.Verdict) {
	defer func() {
		if v := recover(); v != nil {
			verdict = edgeguard.Verdict{Reason: "panic"}
			a.stats.panics.Add(1)
			a.uncounted(event.Addr, edgeguard.DecisionFailed)
			a.config.Alarm(alarmPanic, fmt.Sprintf("the decision panicked, and the request was let through: %v\n%s", v, debug.Stack()))
		}
	}()
	event.Time = now
	return a.config.Decide(now, event)
}

// noClient passes a request that names no client.
func (a *asker) noClient(what string) edgeguard.Verdict {
	a.stats.noClient.Add(1)
	a.uncounted(netip.Addr{}, edgeguard.NoClient)
	a.config.Alarm(alarmNoClient, what+" names no client that can be read, and the request was let through: see `edgeguard snippets`")
	return edgeguard.Verdict{Reason: "no client address"}
}

// uncounted reports a request that is not counted, unless another sensor counts
// it.
func (a *asker) uncounted(addr netip.Addr, why edgeguard.Reason) {
	if a.config.LookUp {
		return
	}
	now := a.config.Now()
	a.config.Uncounted(now, []edgeguard.Uncounted{{Time: now, Addr: addr, Reason: why}})
}
