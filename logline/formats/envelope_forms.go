package formats

import (
	"time"

	"edgeguard/logline/scan"
)

// Envelope is how a program wraps lines in JSON. One is taken off, and the line inside
// goes to the parser of its own format.
type Envelope struct {
	Name string
	// keys are the names of the member that holds the line.
	keys []string
	// times are the members that say when the line was written, the best first.
	times []string
	// program is the member that names the program that wrote the line; alone says
	// that a line never has that in it.
	program string
	alone   bool
	// ids are the members that tell the streams apart whose lines may be in pieces.
	ids []string
	// parts are the members that say, by these values, that the line goes on in the
	// stream's next envelope. Without any a line goes on that has no newline.
	parts []member
}

type member struct{ key, value string }

// maxIDs is how many members may tell streams apart.
const maxIDs = 6

// Envelopes are those that are known.
//
// docker cuts a line every 16 KiB, journald every 48 KiB. Vector and Fluent Bit put
// the pieces of docker's together, if they are not told otherwise.
// (https://docs.docker.com/engine/logging/drivers/json-file/,
// https://www.freedesktop.org/software/systemd/man/latest/systemd.journal-fields.html,
// https://vector.dev/docs/reference/configuration/sources/docker_logs/,
// https://docs.fluentbit.io/manual/data-pipeline/parsers/multiline-parsing)
var Envelopes = []*Envelope{
	{Name: "docker", keys: []string{"log"}, times: []string{"time"}, ids: []string{"stream"}},
	{
		Name: "journald", keys: []string{"MESSAGE"}, times: []string{"_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP"},
		program: "SYSLOG_IDENTIFIER", alone: true,
		ids: []string{"_STREAM_ID"}, parts: []member{{"_LINE_BREAK", "line-max"}},
	},
	{
		Name: "vector", keys: []string{"message"}, times: []string{"timestamp", "@timestamp"}, program: "SYSLOG_IDENTIFIER",
		ids: []string{"stream", "container_id", "file", "host", "kubernetes"}, parts: []member{{"_partial", "true"}},
	},
	{
		Name: "fluentbit", keys: []string{"log", "message"}, times: []string{"time", "date", "timestamp", "@timestamp"}, program: "SYSLOG_IDENTIFIER",
		ids:   []string{"stream", "source", "container_id", "file", "path", "kubernetes"},
		parts: []member{{"_p", "P"}, {"logtag", "P"}, {"partial_message", "true"}},
	},
}

// NamesProgram reports whether each envelope names the program that wrote its line.
func (o *Envelope) NamesProgram() bool { return o.alone }

// FindEnvelope returns the form of a name, nil if it is not known.
func FindEnvelope(name string) *Envelope {
	for _, k := range Envelopes {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Wrap returns what makes the parser of one log of such envelopes, whose lines
// inside are of the parsers that inside makes.
func (o *Envelope) Wrap(inside func(*time.Location) scan.LineParser) func(*time.Location) scan.LineParser {
	return func(zone *time.Location) scan.LineParser {
		p := &envelopeParser{form: o, inside: inside(zone), clock: scan.Clock{Zone: zone}}
		p.pieces.Inside = p.inside
		if p.Dated, _ = p.inside.(scan.Dated); p.Dated == nil {
			p.Dated = &scan.Clock{Zone: zone}
		}
		p.headed, _ = p.inside.(scan.Headed)
		return p
	}
}
