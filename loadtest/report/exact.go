package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"edgeguard/loadtest/algorithms"
	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/report/plot"
	"edgeguard/rules"
)

// verdict is what a way to limit a rate did over all scenarios on one node.
type verdict struct {
	name, what              string
	requests, over, refused int
	most                    uint64 // to one client in a window, in percent of the limit
	least, greatest         float64
	shortest                float64 // time in which more than the limit passed, in percent of the window; 100 and more: never
	asked, untrue           int
}

// verdicts adds up what the exact log says of each way.
func verdicts(a *algorithms.Result) []verdict {
	all := make([]verdict, len(a.Limiters))
	for i, l := range a.Limiters {
		v := &all[i]
		v.name, v.what, v.shortest = l.Name, l.What, 100
		for k := range a.Scenarios {
			if a.Scenarios[k].Nodes > 1 || i >= len(a.Scenarios[k].Rows) {
				continue // what no way can know on one node
			}
			s := &a.Scenarios[k].Rows[i]
			v.requests += s.Requests
			v.over += s.Over
			v.refused += s.RefusedFalsely
			v.most = max(v.most, uint64(s.Most)*100/uint64(max(s.Limit, 1)))
			v.least, v.greatest = min(v.least, s.Least), max(v.greatest, s.Greatest)
			if s.ShortestMS >= 0 {
				v.shortest = min(v.shortest, float64(s.ShortestMS)/float64(max(60*a.Scenarios[k].SlotS, 1))/10)
			}
			v.asked += s.Asked - s.Silent
			v.untrue += s.Early + s.Late
		}
	}
	return all
}

// exact is what each way to limit a rate lets through over its limit.
func (r *Report) exact() section {
	s := section{Question: "How exact is it?", Command: "go run ./loadtest algorithms" + r.full()}
	a := r.Parts.Algorithms
	if a == nil {
		return s
	}
	all := verdicts(a)
	s.Table = &grid{Head: []string{"way", "over its limit within", "most in one window", "admitted over", "refused falsely", "error of its count", "untrue Retry-After"}}
	for _, v := range all {
		waits, time := "says none", withUnit(v.shortest, "%")
		if v.asked > 0 {
			waits = fmt.Sprintf("%s of %s", whole(float64(v.untrue)), whole(float64(v.asked)))
		}
		if v.shortest >= 100 {
			time = "never"
		}
		s.Table.add(v.name, time, fmt.Sprintf("%d %%", v.most), whole(float64(v.over)), whole(float64(v.refused)), fmt.Sprintf("%.0f to %.0f", v.least, v.greatest), waits)
	}
	var whats []string
	for _, v := range all {
		whats = append(whats, v.name+" is "+v.what)
	}
	s.Says = append(s.Says, strings.Join(whats, "; ")+".")
	if len(all) > 0 {
		s.Says = append(s.Says, fmt.Sprintf("%s requests of %s (visitors, crowds, brute force, a botnet, bursts at every boundary) for windows of 60 slots of 1, 5 and 10 s, judged by the exact log of what each way let pass.",
			whole(float64(all[0].requests)), count(len(a.Scenarios), "scenario")))
	}
	return s
}

// documents is what the documents say that edgeguard began with.
func (r *Report) documents() section {
	s := section{Aside: true, Question: "What do the documents say?", Command: "go run ./loadtest algorithms" + r.full()}
	a := r.Parts.Algorithms
	if a == nil {
		return s
	}
	s.Table = &grid{Head: []string{"said", "found", ""}}
	for _, c := range a.Claims {
		s.Table.add(upper(c.Says), upper(c.Found), so(c.True))
	}
	if o := r.Parts.OverRedis; o != nil {
		for _, c := range o.Claims {
			s.Table.add("Redis: "+c.Claim, fmt.Sprintf("%s said, %s %s", withUnit(c.Said, ""), withUnit(c.Is, ""), c.Unit), so(c.Said == c.Is))
		}
		for _, m := range o.Memory {
			if m.Said > 0 {
				s.Table.add(fmt.Sprintf("Redis: %s takes %d bytes of a client or of its request (%s)", m.Way, m.Said, m.State),
					fmt.Sprintf("%d bytes a client, %d a request", m.Bytes, m.RequestBytes), so(m.Holds()))
			}
		}
	}
	s.Says = []string{"edgeguard grew from documents that each argue for another way. This is what they say, tried."}
	return s
}

// so is whether what is said holds.
func so(holds bool) string {
	if holds {
		return "so"
	}
	return "not so"
}

// fast is what a decision takes.
func (r *Report) fast() section {
	s := section{Question: "How fast is it?", Command: "go run ./loadtest report -only algorithms,add,decide,log" + r.full()}
	s.Table = &grid{Head: quoted}
	s.Says = []string{"A lone request waits for memory, so each count depends on the one before; lines of a log come in batches, and batches overlap their waits. " +
		"The obvious is a map of rings behind mutexes. Cold keys were seen in one slot, dense ones in all. " +
		"ring-1 is edgeguard's table as it is, with eviction and a hard limit of memory; the ways beside it are maps of Go that grow."}
	r.quote(s.Table, fastQuestion)
	r.waysFast(s.Table)
	return s
}

// waysFast adds what a decision takes by each way, edgeguard's among them.
func (r *Report) waysFast(g *grid) {
	a := r.Parts.Algorithms
	if a == nil {
		return
	}
	for _, l := range a.Limiters {
		var all []string
		for _, one := range a.Speed {
			if one.Limiter != l.Name {
				continue
			}
			text := one.Keys + ": "
			if i := slices.IndexFunc(a.Costs, func(c algorithms.Cost) bool { return c.Name == "Take/"+l.Name+"/"+one.Keys }); i >= 0 {
				text += whole(a.Costs[i].Instructions) + " instructions, "
			}
			all = append(all, text+fmt.Sprintf("%s (%s to %s)", withUnit(one.MedianNS, "ns"), withUnit(one.LeastNS, ""), withUnit(one.MostNS, "")))
		}
		if len(all) > 0 {
			g.add("A decision by "+l.Name, "", strings.Join(all, "; "), "")
		}
	}
}

// memory is what a key takes.
func (r *Report) memory() section {
	s := section{Question: "How much memory does it take?", Command: "go run ./loadtest algorithms" + r.full()}
	a := r.Parts.Algorithms
	if a == nil {
		return s
	}
	s.Table = &grid{Head: []string{"bytes a key"}}
	var rows []string
	for _, m := range a.Memory {
		filling := fmt.Sprintf("%s keys in %d of 60 slots", whole(float64(m.Clients)), m.Slots)
		if !slices.Contains(s.Table.Head, filling) {
			s.Table.Head = append(s.Table.Head, filling)
		}
		at := slices.Index(rows, m.Limiter)
		if at < 0 {
			at = len(rows)
			rows = append(rows, m.Limiter)
			s.Table.add(m.Limiter)
		}
		for len(s.Table.Rows[at]) < slices.Index(s.Table.Head, filling) {
			s.Table.Rows[at] = append(s.Table.Rows[at], "-")
		}
		s.Table.Rows[at] = append(s.Table.Rows[at], fmt.Sprintf("%s (%s)", withUnit(m.BytesAKey, ""), withUnit(float64(m.TotalBytes)/1e6, "MB")))
	}
	for i := range s.Table.Rows {
		for len(s.Table.Rows[i]) < len(s.Table.Head) {
			s.Table.Rows[i] = append(s.Table.Rows[i], "-")
		}
	}
	s.Says = []string{"Most addresses come once or twice, and such a key of edgeguard has no ring; one that is active in every slot has one. Documents compute 2 to 3 GB for 10 million addresses with 60 buckets each. " +
		"The other ways are maps of Go. What a flood of new addresses does to a table with a hard limit of memory: [figures](figures.md#memory-growth-and-floods)."}
	return s
}

// The traffic of the picture: 20 requests a second for as long as it shows.
const (
	pictureLimit  = 100
	pictureWindow = time.Minute
	pictureBegin  = 50 * time.Second
	pictureEnd    = 185 * time.Second
	pictureEvery  = 50 * time.Millisecond
)

// boundary is the fixed window beside the ring where two windows meet. It is computed,
// and the same each time.
func boundary() plot.Lines {
	guard := rules.Guard(1_000_000)
	lines := plot.Lines{
		Title: "One client, 20 requests a second, limit 100 a minute", X: "seconds; a new minute begins at 60, 120 and 180", Y: "requests that passed in the last 60 s",
		Limit: pictureLimit, LimitText: "the limit",
	}
	for _, one := range []struct {
		name string
		l    limiter.Limiter
	}{
		{"edgeguard's 60 slots", limiter.NewRing(pictureLimit, guard, pictureWindow)},
		{"fixed window", limiter.NewFixedWindow(pictureLimit, pictureWindow)},
	} {
		lines.Series = append(lines.Series, plot.Series{Name: one.name, Points: passed(one.l)})
	}
	return lines
}

// passed is how many requests a limiter let pass in the last window, each half second.
func passed(l limiter.Limiter) (points []plot.Point) {
	var times []time.Duration
	next := pictureBegin
	for at := pictureBegin; at <= pictureEnd; at += pictureEvery {
		if d, err := l.Take(at, 0, 1); err == nil && d.Allowed {
			times = append(times, at)
		}
		for len(times) > 0 && times[0] <= at-pictureWindow {
			times = times[1:]
		}
		if at >= next {
			points = append(points, plot.Point{X: at.Seconds(), Y: float64(len(times))})
			next += 500 * time.Millisecond
		}
	}
	return points
}
