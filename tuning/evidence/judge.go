package evidence

import (
	"fmt"
	"net/netip"
	"strings"

	"edgeguard"
	"edgeguard/tuning"
)

// Judgement is what an address looks like and why, in a few words without text of
// the log.
type Judgement struct {
	tuning.Looks
	Why string
}

// Where evidence begins. They are round numbers chosen by what people, crawlers
// and programs do, and none is measured on a log: a page has a handful of assets;
// who mistypes a password does so a few times; a site has a few dead links.
const (
	fewAssets    = 3    // loaded by whoever reads one page
	assetShare   = 0.15 // of a reader's requests
	failedShare  = 0.2  // of a reader's requests that may fail
	manyTries    = 10   // to log in, which nobody makes by hand
	machineTries = 100  // to log in, which no application needs
	doorShare    = 0.8  // of a guesser's requests that are logins
	fewOdd       = 4    // different scripts, backups or dot files that are not there
	manyFailing  = 12   // different pages that are not there
	mostFailing  = 0.5  // of such an address's requests
	logsAssets   = 0.05 // of a log's requests, if it has assets at all
)

// Judge returns what a key looks like. It is exact only after the last event.
func (b *Book) Judge(key edgeguard.Key) Judgement {
	if f, ok := b.judged[key.Prefix]; ok {
		return f
	}
	f := Judgement{Why: "nothing is known of it"}
	if r := b.Record(key.Prefix); r != nil {
		f = b.judge(r)
	}
	b.judged[key.Prefix] = f
	return f
}

func (b *Book) judge(r *Record) Judgement {
	if why := b.hostile(r); why != "" {
		return Judgement{tuning.Hostile, why}
	}
	if why := b.benign(r); why != "" {
		return Judgement{tuning.Benign, why}
	}
	return Judgement{Why: "nothing says what it is"}
}

// hostile returns why an address is evidently one that attacks, or nothing. Who says
// to be a crawler and asks for many pages that are gone follows old links.
func (b *Book) hostile(r *Record) string {
	browses := r.Assets >= fewAssets && share(r.Assets, r.Requests) >= assetShare
	switch {
	case r.Inside > 0 && r.Failed < r.Requests/2:
		return "" // logged in
	case r.odd.about() >= fewOdd && (!browses || share(r.Failed, r.Requests) >= failedShare):
		return fmt.Sprintf("asks for about %d different scripts, backups or dot files that are not there", r.odd.about())
	case r.failing.about() >= manyFailing && share(r.Failed, r.Requests) >= mostFailing && !(10*r.Bots >= 9*r.Requests && r.Posts == 0):
		return fmt.Sprintf("asks for about %d different pages that are not there", r.failing.about())
	case r.Tries >= manyTries && r.Assets == 0 && share(r.Doors, r.Requests) >= doorShare && b.guesses(r):
		return fmt.Sprintf("logs in %d times and does nothing else", r.Tries)
	}
	return ""
}

// guesses reports whether an address that only logs in is no application. Those say
// what they are, and what refuses them is not asked again and again. A browser loads
// more than the form, where the log has assets at all. One answer to all tries is
// what a guesser gets; who knows the password gets another than who mistypes it.
func (b *Book) guesses(r *Record) bool {
	if r.Refused >= manyTries && r.Refused*2 >= r.Tries {
		return true
	}
	if 10*min(r.Sent, r.Tries-r.Sent) > r.Tries || calls(r) {
		return false
	}
	claims := 2*r.Browsers >= r.Requests
	return r.Tries >= machineTries || claims && b.hasAssets() || !claims && r.Sent == 0
}

// calls reports whether an address mostly asks for tokens, as applications do.
func calls(r *Record) bool {
	for _, p := range r.Paths() {
		if strings.HasPrefix(p.Text, "POST ") {
			return strings.Contains(p.Text, "token") || strings.Contains(p.Text, "/auth") || strings.Contains(p.Text, "session") ||
				strings.Contains(p.Text, "xmlrpc") && r.Tries < machineTries && 2*r.Browsers < r.Requests
		}
	}
	return false
}

// benign returns why an address is evidently a reader, or nothing.
func (b *Book) benign(r *Record) string {
	switch {
	case r.odd.about() >= fewOdd:
		return ""
	case b.crawls(r):
		return "says to be the crawler of a search engine, only reads, and its network asked for robots.txt (not verified)"
	case share(r.Failed, r.Requests) >= failedShare:
		return ""
	case r.Inside > 0:
		return "is logged in"
	case r.Assets >= fewAssets && share(r.Assets, r.Requests) >= assetShare && 2*r.Doors < r.Requests:
		return fmt.Sprintf("loads pages as browsers do: %.0f %% are assets", 100*share(r.Assets, r.Requests))
	case r.Pictures >= fewAssets && 10*r.Pictures >= 9*r.Requests && 2*r.Browsers >= r.Requests:
		return "loads pictures that another site shows"
	}
	return ""
}

// crawls reports whether an address claims to be a search engine and behaves so.
func (b *Book) crawls(r *Record) bool {
	return 10*r.Engines >= 9*r.Requests && r.Posts == 0 && r.odd.about() < fewOdd && b.readsRobots(r)
}

// hasAssets reports whether the log has assets, so that their lack says something.
func (b *Book) hasAssets() bool {
	return b.requests > 0 && float64(b.assets)/float64(b.requests) >= logsAssets
}

// readsRobots reports whether the address or one of its network asked for
// robots.txt: crawlers divide the work.
func (b *Book) readsRobots(r *Record) bool {
	if b.robots == nil {
		b.robots = make(map[netip.Prefix]bool)
		for _, other := range b.records {
			if other.Robots {
				b.robots[network(other.Prefix)] = true
			}
		}
	}
	return b.robots[network(r.Prefix)]
}

func share(part, whole uint32) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Basis returns what a proposal goes by beside the counts: the rule's threshold, and
// the highest count on a normal day, 0 if there is none.
func (b *Book) Basis(threshold, normal uint32) tuning.Basis {
	return tuning.Basis{Threshold: threshold, Known: uint64(b.Len()), Normal: normal,
		Looks: func(key edgeguard.Key) tuning.Looks { return b.Judge(key).Looks }}
}
