package traffic

import (
	"fmt"
	"math/rand/v2"
)

// site is the small WordPress shop of the sample: what it serves, and the log
// that its visitors leave.
type site struct {
	rng   *rand.Rand
	lines []line
}

// The sample's hour, and the size of the shop.
const (
	opens    = 1780408800 // 2026-06-02 14:00:00 UTC, a Tuesday
	hour     = 3600
	products = 60
	posts    = 24
)

// theme is what a browser fetches once, with the first page of a visit.
var theme = []struct {
	target string
	bytes  int
}{
	{"/wp-content/themes/harbour/style.css?ver=3.2", 18412},
	{"/wp-content/themes/harbour/site.js?ver=3.2", 42377},
	{"/wp-includes/js/jquery/jquery.min.js?ver=3.7.1", 30348},
	{"/wp-content/uploads/2025/11/logo.svg", 5120},
	{"/favicon.ico", 1406},
}

// log records one line, unless it falls after the hour: a visit that goes on
// is cut off as a rotated log cuts it.
func (s *site) log(l line) {
	if l.at < opens+hour {
		s.lines = append(s.lines, l)
	}
}

// page draws a page of the site, and how many pictures it shows.
func (s *site) page() (target string, pictures int) {
	switch n := s.rng.IntN(20); {
	case n < 4:
		return "/", 2
	case n < 12:
		return product(s.rng.IntN(products)), 3
	case n < 14:
		return fmt.Sprintf("/shop/page/%d/", 1+s.rng.IntN(4)), 4
	case n < 17:
		return fmt.Sprintf("/2026/%02d/notes-from-the-harbour-%d/", 1+s.rng.IntN(5), 1+s.rng.IntN(posts)), 1
	case n < 18:
		return "/?s=" + searches[s.rng.IntN(len(searches))], 2
	case n < 19:
		return "/cart/", 1
	default:
		return "/contact/", 0
	}
}

var searches = []string{"rope", "lantern", "oil+lamp", "brass+bell", "chart", "compass", "knife"}

func product(n int) string { return fmt.Sprintf("/product/item-%03d/", n+1) }

func picture(n int) string { return fmt.Sprintf("/wp-content/uploads/2026/05/item-%03d.webp", n+1) }

// between draws a whole number from low to high, both included.
func (s *site) between(low, high int) int { return low + s.rng.IntN(high-low+1) }
