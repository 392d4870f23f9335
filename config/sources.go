package config

import (
	"fmt"

	"edgeguard"
)

// source is what one configured sensor can supply.
type source struct {
	kinds  edgeguard.Kind
	fields edgeguard.Field
}

// What each sensor supplies. A log format that is not listed may supply
// anything.
var (
	authSource = source{
		edgeguard.KindRequest,
		edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldHeader,
	}
	packetFields = edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldPort
	logKinds     = edgeguard.KindRequest | edgeguard.KindResponse
	logFields    = map[string]edgeguard.Field{
		"common":   edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus,
		"combined": edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldAgent,
	}
)

// sources lists what the configured sensors supply; nothing where sensors are
// left out, because then the command line names them.
func (c *Config) sources() []source {
	if len(c.Sensors.AccessLog) == 0 && c.Sensors.Packet == nil {
		return nil
	}
	var all []source
	if len(c.Listen.Auth) > 0 {
		all = append(all, authSource)
	}
	for _, log := range c.Sensors.AccessLog {
		fields, known := logFields[log.Format]
		if !known {
			fields = ^edgeguard.Field(0)
		}
		all = append(all, source{logKinds, fields})
	}
	if c.Sensors.Packet != nil {
		all = append(all, source{c.Sensors.Packet.Kinds, packetFields})
	}
	return all
}

// unsupplied warns of rules that no configured source can ever satisfy.
func (r *reader) unsupplied(c *Config) []Problem {
	sources := c.sources()
	if len(sources) == 0 {
		return nil
	}
	var warnings []Problem
	for i := range c.Rules.Rules {
		meter := &c.Rules.Meters[c.Rules.Rules[i].Meter]
		missing, ok := lacking(sources, meter.Kind, meter.Fields())
		if ok {
			continue
		}
		text := fmt.Sprintf("counts nothing: no configured source sees a %v", meter.Kind)
		if missing != 0 {
			text = fmt.Sprintf("counts nothing: no configured source of a %v knows its %v", meter.Kind, missing)
		}
		path := fmt.Sprintf("rules[%d]", i)
		at := r.placeOf(path)
		warnings = append(warnings, Problem{r.file, at.line, at.column, path, text, "add a sensor that does, or a log format that has it"})
	}
	return warnings
}

// lacking finds whether one source has the kind and all fields, and if none
// does, the fields that the best of them lacks.
func lacking(sources []source, kind edgeguard.Kind, fields edgeguard.Field) (missing edgeguard.Field, ok bool) {
	for _, s := range sources {
		if s.kinds&kind == 0 {
			continue
		}
		if fields&^s.fields == 0 {
			return 0, true
		}
		missing = fields &^ s.fields
	}
	return missing, false
}
