package haproxypeers

import "time"

// How often HAProxies may connect to one listener: each connection costs two lines of the
// log and the teaching of all blocks. HAProxy itself waits for 5 s before it connects
// again, or is another process.
const (
	atOnce   = 4 * maxHAProxies
	oneEvery = time.Second
)

// often bounds how often something happens: atOnce times together, and then once for each
// oneEvery. The zero value is ready.
type often struct {
	full time.Time // when it may happen atOnce times together again
}

// may reports whether it may happen now, and notes that it does.
func (o *often) may(now time.Time) bool {
	if o.full.Before(now) {
		o.full = now
	}
	if o.full.Sub(now) > (atOnce-1)*oneEvery {
		return false
	}
	o.full = o.full.Add(oneEvery)
	return true
}
