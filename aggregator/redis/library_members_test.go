package redis

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// beats is a server whose time the test sets, with its reference.
type beats struct {
	*both
	clock *goredis.Client
	names names
	now   time.Time
	r     *rand.Rand
}

func newBeats(t testing.TB) *beats {
	t.Helper()
	const time1, state = "call('TIME')", "eg:{t/b}:state"
	if strings.Count(LibrarySource, time1) < 3 {
		t.Fatal("the library asks for the time in another way")
	}
	seed := rand.Uint64()
	source := strings.ReplaceAll(LibrarySource, time1, "call('HMGET', '"+state+"', 'now', 'µs')")
	b := &beats{both: newBothFrom(t, fmt.Sprint("seed ", seed), source), names: newNames("t", 16), r: rand.New(rand.NewPCG(seed, 0))}
	b.clock = b.admin()
	b.setTime(time.Unix(1_800_000_000, 0))
	return b
}

// setTime sets the time of the server and of the reference.
func (b *beats) setTime(now time.Time) {
	b.t.Helper()
	b.now = now
	if err := b.clock.HSet(context.Background(), b.names.state, "now", now.Unix(), "µs", 0).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// answer is the answer to a beat.
type answer struct {
	known                    int64
	other, before            int64
	more, whole, asked, macs int64
	news                     []saidMember
}

type saidMember struct {
	field string
	alive bool
	text  string
}

func (b *beats) parse(got any) (a answer) {
	b.t.Helper()
	list := got.([]any)
	if len(list) < 14 || (len(list)-14)%3 != 0 {
		b.fail("an answer of %d parts", len(list))
	}
	for i, to := range []*int64{&a.known, &a.other, &a.before, &a.more, &a.whole, &a.asked, &a.macs} {
		*to = list[7+i].(int64)
	}
	for some := range slices.Chunk(list[14:], 3) {
		a.news = append(a.news, saidMember{some[0].(string), some[1].(int64) == 1, some[2].(string)})
	}
	return a
}

// raw is a beat at the server alone.
func (b *beats) raw(args ...any) answer {
	b.t.Helper()
	got, err := b.node.FCall(context.Background(), function("beat"), b.names.memberKeys(), args...).Result()
	if err != nil {
		b.fail("beat %q: %v", args, err)
	}
	return b.parse(got)
}

// beat is a beat at both. It fails where the answers differ in more than the
// order of a whole list.
func (b *beats) beat(args ...string) answer {
	b.t.Helper()
	b.past = append(b.past, fmt.Sprintf("%d beat %q", b.now.Unix(), args))
	b.past = b.past[max(0, len(b.past)-20):]
	var list []any
	for _, a := range args {
		list = append(list, a)
	}
	want, err := b.reference.Call(b.now, function("beat"), b.names.memberKeys(), args)
	if err != nil {
		b.t.Fatal(err)
	}
	x, y := b.raw(list...), b.parse(want)
	if x.whole == 1 {
		slices.SortFunc(x.news, func(a, b saidMember) int { return strings.Compare(a.field, b.field) })
	}
	if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
		b.fail("the library returns %+v;\nthe reference %+v", x, y)
	}
	return x
}

// reader is a node that puts together what it reads.
type reader struct {
	known int64
	alive map[string]string // by field
}

// read asks until there is nothing new.
func (r *reader) read(b *beats) {
	b.t.Helper()
	for range 100 {
		a := b.beat("", "", "16", strconv.FormatInt(r.known, 10), "0", "")
		r.take(a)
		if len(a.news) == 0 || a.known == 0 { // after a whole list it goes on: a call drops 32 that are silent
			return
		}
	}
	b.fail("there is always more")
}

func (r *reader) take(a answer) {
	if a.whole == 1 || r.alive == nil {
		r.alive = map[string]string{}
	}
	r.known = a.known
	for _, m := range a.news {
		if delete(r.alive, m.field); m.alive {
			r.alive[m.field] = m.text
		}
	}
}

func field(i int) string { return fmt.Sprintf("edge-%d/0123456789abcdef", i) }

func text(i, said int) string { return fmt.Sprintf(`{"said":%d,"run":"%08x"}`, said, i) }

// TestNewsIsTheWholeList: what nodes put together from news is the whole list,
// whatever others do.
func TestNewsIsTheWholeList(t *testing.T) {
	t.Parallel()
	b := newBeats(t)
	const fields = 50
	said, readers, compared := map[int]int{}, make([]reader, 4), 0
	for range 4000 {
		i := b.r.IntN(fields)
		switch b.r.IntN(24) {
		case 0: // a farewell
			b.beat(field(i), "", "16", "-1", "0", fmt.Sprintf("%08x", i))
		case 1: // it says another thing of itself
			said[i]++
			b.beat(field(i), text(i, said[i]), "16", "-1", "1", fmt.Sprintf("%08x", i))
		case 2: // two nodes under one field
			b.beat(field(i), text(i, said[i]), "16", "-1", "0", fmt.Sprintf("%08x", i+1))
		case 3, 4:
			b.setTime(b.now.Add(time.Duration(b.r.IntN(3)) * time.Second))
		case 5: // all are silent, or some
			if b.r.IntN(10) == 0 {
				step := []time.Duration{9, 10, 11, 3600, 4000, -5, -4000}[b.r.IntN(7)] * time.Second
				b.setTime(b.now.Add(step))
				if step > time.Hour-time.Minute { // a node that was away for so long joins again
					clear(readers)
				}
			}
		default:
			if i < 30 || b.now.Unix()%60 < 30 {
				b.beat(field(i), text(i, said[i]), "16", strconv.Itoa(b.r.IntN(40)-1), "0", fmt.Sprintf("%08x", i))
			}
		}
		if b.r.IntN(8) > 0 {
			continue
		}
		r := &readers[b.r.IntN(len(readers))]
		r.read(b)
		if whole := b.wholeList(); !maps.Equal(whole, r.alive) {
			b.fail("the list is %q;\nby news %q", whole, r.alive)
		}
		compared++
	}
	t.Logf("%d comparisons", compared)
}

func (b *beats) wholeList() map[string]string {
	b.t.Helper()
	whole := reader{}
	whole.read(b)
	return whole.alive
}

// TestManyChangesAtOnce: 32 in an answer, then the others.
func TestManyChangesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBeats(t)
	var known int64
	for i := range 41 {
		known = b.beat(field(i), text(i, 0), "16", "-1", "0", fmt.Sprintf("%08x", i)).known
		if i == 0 {
			known = 1
		}
	}
	if known != 41 {
		t.Fatalf("version %d after 41 joins", known)
	}
	first := b.beat("", "", "16", "1", "0", "")
	second := b.beat("", "", "16", strconv.FormatInt(first.known, 10), "0", "")
	if len(first.news) != 32 || first.more != 1 || len(second.news) != 8 || second.more != 0 || second.known != 41 {
		t.Errorf("%d (more %d), %d (more %d), version %d", len(first.news), first.more, len(second.news), second.more, second.known)
	}
	if a := b.beat("", "", "16", "41", "0", ""); len(a.news) != 0 || a.whole != 0 {
		t.Errorf("after the last: %+v", a)
	}
	// A version that Redis does not know: it was emptied, or a replica took over.
	if a := b.beat("", "", "16", "42", "0", ""); len(a.news) != 41 || a.whole != 1 || a.known != 41 {
		t.Errorf("from a version that is not there: %d, whole %d, version %d", len(a.news), a.whole, a.known)
	}
	// All are silent: as many as one call may drop, and the rest in the next.
	b.setTime(b.now.Add(10 * time.Second))
	first = b.beat("", "", "16", "41", "0", "")
	second = b.beat("", "", "16", strconv.FormatInt(first.known, 10), "0", "")
	if len(first.news) != 32 || len(second.news) != 9 || first.news[0].alive || second.news[8].alive || second.known != 82 {
		t.Errorf("silent: %d, %d, version %d", len(first.news), len(second.news), second.known)
	}
}

// TestOwnBeatBefore: what a node reads of its own field.
func TestOwnBeatBefore(t *testing.T) {
	t.Parallel()
	b := newBeats(t)
	began := b.now.Unix()
	for i, step := range []struct {
		after         time.Duration
		text          string
		run           string
		other, before int64
	}{
		{0, text(1, 0), "00000001", 0, 0},
		{2, text(1, 0), "00000001", 0, began},
		{2, text(2, 0), "00000002", 1, began + 2},  // another process came
		{2, text(1, 0), "00000001", 1, began + 4},  // and the first sees it
		{10, text(2, 0), "00000002", 0, began + 6}, // which has ended since
		{2, "", "00000002", 0, began + 16},         // a farewell
		{0, text(3, 0), "00000003", 0, began + 16}, // after which the field is free
	} {
		b.setTime(b.now.Add(step.after * time.Second))
		a := b.beat(field(1), step.text, "16", "-1", "0", step.run)
		if a.other != step.other || a.before != step.before {
			t.Errorf("step %d: other %d, before %d, want %d, %d", i, a.other, a.before-began, step.other, step.before-began)
		}
	}
}

// TestBeatCounts: how often nodes asked for MACs, and how many there are.
func TestBeatCounts(t *testing.T) {
	t.Parallel()
	b := newBeats(t)
	ctx := context.Background()
	for want, value := range map[int64]string{7: "7", 0: "x", 1 << 40: "1099511627776"} {
		b.node.HSet(ctx, b.names.state, "ask", value)
		b.node.HSet(ctx, b.names.macs, value, "x")
		if a := b.raw("", "", "16", "-1", "0", ""); a.asked != want || a.macs != b.node.HLen(ctx, b.names.macs).Val() || a.macs == 0 {
			t.Errorf("ask %q: %+v", value, a)
		}
	}
}

// TestMembersAreTrippedByNothing: what others delete or write into the keys of
// the members makes no call fail, and a whole list puts every node right.
func TestMembersAreTrippedByNothing(t *testing.T) {
	t.Parallel()
	b := newBeats(t)
	ctx := context.Background()
	for i := range 20 {
		b.raw(field(i), text(i, 0), "16", "-1", "0", fmt.Sprintf("%08x", i))
	}
	rubbish := []string{"", "x", "{}", " {}", "nan x", "-1 x", "1e300 x", "99999999999999999999 x", "0 x", "1800000000", "1800000000 "}
	for n := range 2000 {
		i := b.r.IntN(20)
		switch b.r.IntN(8) {
		case 0:
			b.clock.Del(ctx, []string{b.names.nodes, b.names.seen, b.names.moved}[b.r.IntN(3)])
		case 1:
			b.clock.HSet(ctx, b.names.nodes, field(b.r.IntN(30)), rubbish[b.r.IntN(len(rubbish))])
		case 2:
			b.clock.HSet(ctx, b.names.state, "members", []string{"x", "0", "5", "-5", "9007199254740991", "9223372036854775807"}[b.r.IntN(6)])
		case 3:
			score := []float64{0, -1, 5.5, 1e300, float64(n), float64(b.now.Unix()) + 1e6}[b.r.IntN(6)]
			b.clock.ZAdd(ctx, []string{b.names.seen, b.names.moved}[b.r.IntN(2)], goredis.Z{Score: score, Member: field(b.r.IntN(30))})
		case 4:
			b.setTime(b.now.Add(time.Duration(b.r.IntN(4)) * time.Second))
		default:
			b.raw(field(i), text(i, n), "16", strconv.Itoa(b.r.IntN(60)-1), "1", fmt.Sprintf("%08x", i))
		}
	}
	b.clock.HSet(ctx, b.names.state, "members", "0")
	b.setTime(b.now.Add(20 * time.Second))
	for range 4 { // who is silent is dropped
		b.raw("", "", "16", "-1", "0", "")
	}
	var r reader
	for i := range 20 {
		b.raw(field(i), text(i, 1), "16", "-1", "0", fmt.Sprintf("%08x", i))
	}
	r.take(b.raw("", "", "16", "0", "0", ""))
	for i := range 5 {
		b.raw(field(i), "", "16", "-1", "0", fmt.Sprintf("%08x", i))
	}
	r.take(b.raw("", "", "16", strconv.FormatInt(r.known, 10), "0", ""))
	if len(r.alive) != 15 {
		t.Errorf("%d are alive: %q", len(r.alive), r.alive)
	}
}
