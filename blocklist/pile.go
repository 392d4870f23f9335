package blocklist

// pile is a binary heap: its first is the one before which no other comes.
// placed tells each where it is, so that it can be taken out from the middle.
// Not safe for concurrent use.
type pile[T any] struct {
	items  []T
	before func(a, b T) bool
	placed func(item T, place int)
}

func (p *pile[T]) set(i int, item T) {
	p.items[i] = item
	p.placed(item, i)
}

func (p *pile[T]) push(item T) {
	p.items = append(p.items, item)
	p.restoreOrder(len(p.items) - 1)
}

// remove takes out the one at a place.
func (p *pile[T]) remove(i int) {
	last := len(p.items) - 1
	item := p.items[last]
	var none T
	p.items[last] = none
	p.items = p.items[:last]
	if i != last {
		p.items[i] = item
		p.restoreOrder(i)
	}
}

// restoreOrder puts the one at a place right, after its order changed.
func (p *pile[T]) restoreOrder(i int) {
	item := p.items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !p.before(item, p.items[parent]) {
			break
		}
		p.set(i, p.items[parent])
		i = parent
	}
	for child := 2*i + 1; child < len(p.items); child = 2*i + 1 {
		if right := child + 1; right < len(p.items) && p.before(p.items[right], p.items[child]) {
			child = right
		}
		if !p.before(p.items[child], item) {
			break
		}
		p.set(i, p.items[child])
		i = child
	}
	p.set(i, item)
}
