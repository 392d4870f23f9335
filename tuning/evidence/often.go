package evidence

import "strings"

// Often is a text and how many times it came, at least. Sure says that the number
// is exact.
type Often struct {
	Text string
	N    uint32
	Sure bool
}

// slot is a text that comes often, by Metwally's space saving (2005): a new text
// takes the place of the rarest and its number, which is then too high by at most
// over.
type slot struct {
	text    string
	n, over uint32
}

// count counts a text in slots sorted by nothing. A text that is new is copied, cut
// to most bytes.
func count(slots []slot, text string, most int) {
	text = text[:min(len(text), most)]
	rarest := &slots[0]
	for i := range slots {
		s := &slots[i]
		if s.n > 0 && s.text == text {
			s.n++
			return
		}
		if s.n < rarest.n {
			rarest = s
		}
	}
	*rarest = slot{text: strings.Clone(text), n: rarest.n + 1, over: rarest.n}
}

// mostOften returns the texts that came most often, the first first, as far as they are
// known to have come at all.
func mostOften(slots []slot) []Often {
	var out []Often
	for _, s := range slots {
		if s.n > s.over {
			out = append(out, Often{Text: s.text, N: s.n - s.over, Sure: s.over == 0})
		}
	}
	sortOften(out)
	return out
}
