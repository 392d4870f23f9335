package lookup

import (
	"fmt"
	"slices"

	"edgeguard/crawlers"
)

// Recorded returns the crawlers for recorded events: by their range files alone. DNS
// is not asked, since a long log could hold any number of claimants, and their
// addresses may have had other names then. Nil without any crawlers.
func Recorded(specs []crawlers.Spec) (*crawlers.Crawlers, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	c, err := crawlers.New(specs, false)
	if err != nil {
		return nil, err
	}
	_, errs := NewFiles(c).Read()
	for name, err := range errs {
		return nil, fmt.Errorf("crawler %s: %w", name, err)
	}
	return c, nil
}

// Unasked returns the crawlers that recorded events cannot show, because only DNS
// knows them.
func Unasked(specs []crawlers.Spec) (names []string) {
	for _, s := range specs {
		if len(s.Ranges) == 0 {
			names = append(names, s.Name)
		}
	}
	return names
}

// Describe returns a line for each crawler: how it is verified, or what is wrong with
// its files.
func Describe(specs []crawlers.Spec) (lines []string, err error) {
	if len(specs) == 0 {
		return nil, nil
	}
	c, err := crawlers.New(specs, false)
	if err != nil {
		return nil, err
	}
	lines, errs := NewFiles(c).Read()
	for _, s := range specs {
		if err := errs[s.Name]; err != nil {
			lines = append(lines, fmt.Sprintf("%s: warning: %v; until it can be read its claimants are unknown", s.Name, err))
		}
		if len(s.DNS) > 0 {
			lines = append(lines, fmt.Sprintf("%s: asked of DNS, by names in %v", s.Name, s.DNS))
		}
	}
	slices.Sort(lines)
	return lines, nil
}
