package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// removeAfter is how long an unsigned record stays in Redis for which no better
// one is known, where signed ones are required: a node that knows one has its
// turn first. Without an end to it, rubbish would fill the list.
const removeAfter = time.Minute

func isWrong(err error) bool { return errors.Is(err, aggregator.ErrWrong) }

// replaceWrong replaces records in Redis that every node rejects by those that
// this node has. A rejected record may be greater than any good one, so that
// publishing alone would leave it there.
func (r *listReader) replaceWrong(ctx context.Context, now time.Time) error {
	if r.config.Monitor {
		return nil
	}
	due := r.mirror.DueReplacements(now)
	if len(due) == 0 {
		return nil
	}
	mine := map[string]fleet.Change{}
	for _, c := range r.publisher.ownRecords() {
		if prefix := c.Block.Prefix.String(); !due[prefix].IsZero() {
			mine[prefix] = c
		}
	}
	stored, err := r.readRecords(ctx, due)
	if err != nil {
		return err
	}
	var args []any
	var lacking []fleet.Change
	for prefix, s := range stored {
		c, known := mine[prefix]
		j := r.keys.check(prefix, s.record, s.mac)
		switch {
		case !isWrong(j.err): // it was replaced past the stream
			r.mirror.Apply(prefix, s.record, j.ledgerMark())
			r.merge(prefix, j, false)
		case known && len(s.record) > aggregator.MaxRecord: // it gives way to any
			lacking = append(lacking, c)
		case known:
			if record, mac, ok := r.publisher.encode(c); ok && !isWrong(r.keys.check(prefix, record, mac).err) {
				args = append(args, prefix, s.record, record, mac)
			}
		case errors.Is(j.err, fleet.ErrUnsigned) && now.Sub(due[prefix]) >= removeAfter && len(s.record) <= aggregator.MaxRecord:
			args = append(args, prefix, s.record, "", "")
		}
	}
	if len(args) > 0 {
		if err := r.callReplace(ctx, args); err != nil {
			return err
		}
	}
	_, err = r.publisher.publish(ctx, lacking)
	return err
}

func (r *listReader) callReplace(ctx context.Context, args []any) error {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	done, err := r.client.FCall(ctx, function("replace"), r.names.publishKeys(), args...).Int64Slice()
	if err != nil {
		r.stats.failed("publish")
		return fmt.Errorf("replace %d records: %w", len(args)/4, err)
	}
	for _, one := range done {
		r.stats.replaced.Add(uint64(one))
	}
	return nil
}

// storedRecord is a record in Redis, with its MAC.
type storedRecord struct{ record, mac string }

// readRecords reads the records of some prefixes.
func (r *listReader) readRecords(ctx context.Context, prefixes map[string]time.Time) (map[string]storedRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	var fields []string
	for prefix := range prefixes {
		fields = append(fields, prefix)
	}
	var records, macs *goredis.SliceCmd
	_, err := r.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		records = pipe.HMGet(ctx, r.names.blocks, fields...)
		macs = pipe.HMGet(ctx, r.names.macs, fields...)
		return nil
	})
	if err != nil {
		r.stats.failed("sync")
		return nil, fmt.Errorf("read rejected records: %w", err)
	}
	stored := map[string]storedRecord{}
	for i, record := range records.Val() {
		if text, ok := record.(string); ok {
			mac, _ := macs.Val()[i].(string)
			stored[fields[i]] = storedRecord{text, mac}
		}
	}
	return stored, nil
}
