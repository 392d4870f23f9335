package detector

import (
	"net/netip"

	"edgeguard"
	"edgeguard/rules"
)

// excess is a count over what rule i allows the event's key, or a network around it.
type excess struct {
	count
	rule   int
	prefix netip.Prefix
	limit  uint32
	width  *rules.Width // of a network; nil for the key
	// crossed says that the event brought the count over the limit, and news that
	// this is to be reported.
	crossed, news bool
}

// reportCrossing reports a crossing; told holds what came of it.
func (x *excess) reportCrossing(o *occasion, m *meter, told edgeguard.Crossing) {
	if o.d.config.Crossed == nil {
		return
	}
	r := &o.d.rules[x.rule]
	var buf [attributesSize]byte
	with, _ := m.AppendAttributes(o.event, buf[:0])
	told.Time, told.Node, told.Rule, told.Key = o.now, o.nodeOfEvent(), r.Name, m.Key(o.event.Addr, string(with))
	told.Count, told.Limit, told.Threshold, told.Fleet = m.TopCount(x.count.count), x.limit, r.Threshold, x.rest > 0
	if x.width != nil {
		told.Key.Prefix, told.Wide = x.prefix, x.width.Bits
	}
	if told.Action == edgeguard.ActionAlarm && !m.Everybody {
		told.FrontDoor = o.frontDoor()
	}
	o.d.tell(m, told)
}
