package rules

import (
	"fmt"
	"slices"

	"edgeguard"
)

// parseCrawler reads a value of the term crawler: "verified" is any crawler that
// was, and what is no such word is the name of one.
func parseCrawler(value string) ([]string, flaw) {
	switch {
	case value == "" || len(value) > 32:
		return nil, flaw{fmt.Sprintf("invalid crawler %.40q", value), "use verified, impostor, unknown, none, or a name of the config's crawlers"}
	case value == "verified":
		return []string{edgeguard.VerifiedCrawler, ""}, flaw{}
	case slices.Contains(edgeguard.CrawlerWords, value):
		return []string{value}, flaw{}
	}
	return []string{edgeguard.VerifiedCrawler + value}, flaw{}
}
