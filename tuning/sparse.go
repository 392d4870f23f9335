package tuning

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
)

// Sparse is a distribution in few bytes, to be kept: its buckets that are not
// empty. Make one with [Distribution.Sparse] or [readSparse]. It is never changed,
// and nil is empty.
//
// It is a byte that says how many neighbouring buckets of a distribution are one of
// its own, as a power of two; the least and the greatest value; and for each bucket
// how far it is behind the one before, its count, and what its sum is above the
// least that it can be. All but the first are uvarints.
type Sparse []byte

// maxSparse is how long a Sparse is at most, in bytes. Where a distribution does
// not fit, neighbouring buckets become one.
const maxSparse = 2400

// mostJoined is where all buckets that are not exact have become one.
const mostJoined = 10

// Sparse returns the distribution as it is now.
func (d *Distribution) Sparse() Sparse {
	if d.total == 0 {
		return nil
	}
	for joined := uint(0); ; joined++ {
		if s := d.sparse(joined); len(s) <= maxSparse {
			return slices.Clip(s)
		}
	}
}

func (d *Distribution) sparse(joined uint) Sparse {
	s := Sparse{byte(joined)}
	s = binary.AppendUvarint(s, uint64(d.min))
	s = binary.AppendUvarint(s, uint64(d.max-d.min))
	before := 0
	for i := bucketOf(d.min); i <= bucketOf(d.max); {
		first, n, sum := i, uint64(0), uint64(0)
		for group := groupOf(i, joined); i < numBuckets && groupOf(i, joined) == group; i++ {
			n, sum = n+d.counts[i], sum+d.sums[i]
		}
		if n == 0 {
			continue
		}
		group := groupOf(first, joined)
		low, _ := groupBounds(group, joined)
		s = binary.AppendUvarint(s, uint64(group-before))
		s = binary.AppendUvarint(s, n)
		s = binary.AppendUvarint(s, sum-n*uint64(max(low, d.min)))
		before = group
	}
	return s
}

// groupOf is the number of the bucket i where 1<<joined neighbours are one. Those
// that are exact stay so.
func groupOf(i int, joined uint) int {
	if i < exactBelow {
		return i
	}
	return exactBelow + (i-exactBelow)>>joined
}

// groupBounds returns the least and the greatest value of such a bucket.
func groupBounds(group int, joined uint) (low, high uint32) {
	if group < exactBelow {
		return boundsOf(group)
	}
	first := exactBelow + (group-exactBelow)<<joined
	low, _ = boundsOf(first)
	_, high = boundsOf(min(first+1<<joined, numBuckets) - 1)
	return low, high
}

// Buckets returns the buckets that are not empty, lowest first. The first and the
// last are cut to the least and the greatest value.
func (s Sparse) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		_ = s.each(yield)
	}
}

var errSparse = errors.New("not a distribution")

// each passes on the buckets until yield returns false. The error says that a bucket
// cannot be.
func (s Sparse) each(yield func(Bucket) bool) error {
	if len(s) == 0 {
		return nil
	}
	r, joined := varints{rest: s[1:]}, uint(s[0])
	least := r.next(math.MaxUint32)
	most := least + r.next(math.MaxUint32-least)
	for group, first := 0, true; len(r.rest) > 0; first = false {
		step, n, over := r.next(numBuckets), r.next(math.MaxUint32), r.next(math.MaxUint64)
		group += int(step)
		if r.bad || n == 0 || step == 0 && !first || group > groupOf(numBuckets-1, joined) {
			return errSparse
		}
		low, high := groupBounds(group, joined)
		low, high = max(low, uint32(least)), min(high, uint32(most))
		if high < low || over > n*uint64(high-low) {
			return errSparse
		}
		if !yield(Bucket{low, high, n, n*uint64(low) + over}) {
			return nil
		}
	}
	if r.bad {
		return errSparse
	}
	return nil
}

// readSparse returns what Sparse made, of bytes that may be anything. It keeps them.
func readSparse(b []byte) (Sparse, error) {
	if len(b) > maxSparse || len(b) > 0 && b[0] > mostJoined {
		return nil, errSparse
	}
	if err := Sparse(b).each(func(Bucket) bool { return true }); err != nil {
		return nil, err
	}
	return b, nil
}

// varints reads uvarints. After one that is cut short or too great, bad is set and
// there are no more.
type varints struct {
	rest []byte
	bad  bool
}

func (r *varints) next(most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Total is how many values were added, and Sum their sum, exactly.
func (s Sparse) Total() (total, sum uint64) {
	for b := range s.Buckets() {
		total, sum = total+b.Count, sum+b.Sum
	}
	return total, sum
}

// Max is the greatest value, exactly; 0 when empty.
func (s Sparse) Max() uint32 {
	if len(s) == 0 {
		return 0
	}
	r := varints{rest: s[1:]}
	least := r.next(math.MaxUint32)
	return uint32(least + r.next(math.MaxUint32-least))
}

// Above and Excess are those of the distribution; where neighbouring buckets became
// one, inside that.
func (s Sparse) Above(n uint32) uint64 { return above(s.Buckets(), n) }

// Excess is described at Above.
func (s Sparse) Excess(n uint32) uint64 { return excess(s.Buckets(), n) }
