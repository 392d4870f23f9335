package accesslog

import "bytes"

// beginnings are the beginnings of the texts that were read lately. A copy that was
// made before a file was emptied (logrotate's copytruncate) lies beside it like
// a file that was made and rotated away unseen. Its beginning tells the two apart;
// otherwise all its lines would count twice.
type beginnings [][]byte

const (
	headSize = 256
	maxHeads = 16
)

// note keeps the beginning of a tail's text, as far as it is there yet.
func (h *beginnings) note(t *tail) {
	if len(t.head) == headSize {
		return
	}
	head := t.beginning()
	if len(head) <= len(t.head) {
		return
	}
	if i := h.index(t.head); i >= 0 {
		(*h)[i] = head
	} else {
		*h = append(*h, head)
		*h = (*h)[max(0, len(*h)-maxHeads):]
	}
	t.head = head
}

// index finds the very slice, which a longer one replaces.
func (h *beginnings) index(head []byte) int {
	for i := range *h {
		if len(head) > 0 && &(*h)[i][0] == &head[0] {
			return i
		}
	}
	return -1
}

// has reports whether a file begins like a text that was read. At least one
// line must be the same.
func (h *beginnings) has(t *tail) bool {
	b := t.beginning()
	for _, head := range *h {
		n := min(len(head), len(b))
		if bytes.IndexByte(b[:n], '\n') >= 0 && bytes.Equal(head[:n], b[:n]) || n == headSize && bytes.Equal(head, b) {
			return true
		}
	}
	return false
}

// beginning reads the first bytes of the file.
func (t *tail) beginning() []byte {
	b := make([]byte, headSize)
	n, _ := t.file.ReadAt(b, 0)
	return b[:n]
}

// begun reports whether there is a line, or more than a line has.
func (t *tail) begun() bool {
	b := t.beginning()
	return len(b) == headSize || bytes.IndexByte(b, '\n') >= 0
}
