package edgeguard

// VerifiedCrawler precedes the name of a crawler in the events of clients that are
// that crawler.
const VerifiedCrawler = "verified "

// CrawlerWords are what a rule can ask of a client besides a crawler's name:
// whether it is one that was verified, claims to be one and is not, claims to be
// one and cannot be verified now, or claims nothing. No crawler has such a name.
var CrawlerWords = []string{"verified", "impostor", "unknown", "none"}
