package pipeline

import (
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/haproxy/peers"
)

// Increases counts what HAProxies counted, of one source, which calls it from one
// goroutine at a time. proxied says that another proxy told the HAProxy its clients.
//
// table is the name of HAProxy's table. It stands for the columns that HAProxy counts
// by: where they are not those of the rules in force, nothing is counted and known is
// false.
func (p *Pipeline) Increases(source string, proxied bool) func(now time.Time, table string, increases []peers.Increase) peers.Outcome {
	var counted []detector.Increase
	return func(now time.Time, table string, increases []peers.Increase) (out peers.Outcome) {
		p.reload.RLock()
		defer p.reload.RUnlock()
		g := p.current.Load()
		if g.Columns.Table() != table {
			return out
		}
		counted = counted[:0]
		for _, in := range increases {
			if in.Column < len(g.Columns.List) { // HAProxy's array may be longer
				c := &g.Columns.List[in.Column]
				counted = append(counted, detector.Increase{Addr: in.Key, Time: in.At, Meter: c.Meter, Cost: c.Cost, N: in.N})
			}
		}
		g.Detector.DecideIncreases(now, proxied, counted, func(became detector.Decided) {
			refused := Ruling{Source: source, Action: edgeguard.ActionDeny, Rule: became.DeniedBy}
			if g.Config.Monitor {
				refused.Action, refused.Unenforced = edgeguard.ActionShadow, true
			}
			p.Verdicts.add(refused, became.Denied)
			p.Verdicts.add(Ruling{Source: source, Action: edgeguard.ActionShadow, Rule: became.ShadowedBy}, became.Shadowed)
			if became.Late {
				out.Late += uint64(became.Requests)
				out.Lost += uint64(became.Lost)
				out.LateSteps += became.LateSteps
			}
		})
		out.Known = true
		return out
	}
}

// add counts rulings of one sort.
func (r *Counts) add(by Ruling, n uint32) {
	if n > 0 {
		r.Of(by).Add(uint64(n))
	}
}
