package evidence

import (
	"fmt"
	"strings"
	"time"

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
	fewAssets   = 3    // loaded by whoever reads one page
	assetShare  = 0.15 // of a reader's requests
	failedShare = 0.2  // of a reader's requests that may fail
	manyTries   = 10   // to log in, which nobody makes by hand
	doorShare   = 0.8  // of a guesser's requests that are logins
	fewOdd      = 4    // different scripts, backups or dot files that are not there
	manyFailing = 12   // different pages that are not there
	mostFailing = 0.5  // of such an address's requests
	slowPace    = 20 * time.Second
	logsAssets  = 0.05 // of a log's requests, if it has assets at all
)

// Judge returns what a key looks like. It is exact only after the last event.
func (b *Book) Judge(key edgeguard.Key) Judgement {
	known := b.reading().judged
	if j, ok := known[key.Prefix]; ok {
		return j
	}
	j := Judgement{Why: "nothing is known of it"}
	if r := b.Record(key.Prefix); r != nil {
		j = b.judge(r)
	}
	known[key.Prefix] = j
	return j
}

func (b *Book) judge(r *Record) Judgement {
	if 10*r.Verified >= 9*r.Requests {
		return Judgement{tuning.Benign, "is a verified crawler"}
	}
	if why := b.hostile(r); why != "" {
		return Judgement{tuning.Hostile, why}
	}
	if why := b.benign(r); why != "" {
		return Judgement{tuning.Benign, why}
	}
	return Judgement{Why: "nothing says what it is"}
}

// hostile returns why an address is evidently one that attacks, or nothing. Who says
// to be a crawler, and is not known not to be it, follows old links when he asks for
// much that is gone, unless no page can have linked to it.
func (b *Book) hostile(r *Record) string {
	browses := r.browses()
	old := 10*r.Bots >= 9*r.Requests && r.Impostors == 0 && r.Posts == 0 && r.secret.different() < fewOdd
	switch {
	case r.Inside >= fewAssets && r.failing.different() < manyFailing, old:
		return ""
	case r.odd.different() >= fewOdd && (!browses || share(r.Failed, r.Requests) >= failedShare):
		return fmt.Sprintf("asks for %s different scripts, backups or dot files that are not there", &r.odd)
	case r.failing.different() >= manyFailing && share(r.Failed, r.Requests) >= mostFailing:
		return fmt.Sprintf("asks for %s different pages that are not there", &r.failing)
	case r.Tries >= manyTries && r.Assets == 0 && share(r.Doors, r.Requests) >= doorShare && b.guesses(r):
		return fmt.Sprintf("logs in %d times and does nothing else", r.Tries)
	}
	return ""
}

// browses reports whether so much of what an address loaded were assets as with a
// browser.
func (r *Record) browses() bool {
	return r.Assets >= fewAssets && share(r.Assets, r.Requests) >= assetShare
}

// guesses reports whether an address that only logs in is no application. Those say
// what they are, and what refuses them is not asked again and again. A browser loads
// more than the form, where the log has assets at all.
func (b *Book) guesses(r *Record) bool {
	if r.Refused >= manyTries && r.Refused*2 >= r.Tries {
		return true
	}
	if r.answeredBoth() || calls(r) {
		return false
	}
	claims := 2*r.Browsers >= r.Requests
	return claims && b.hasAssets() || !claims && r.Sent == 0
}

// answeredBoth reports whether tries to log in were answered in two ways. One answer
// to all is what a guesser gets; who knows the password gets another than who mistypes
// it.
func (r *Record) answeredBoth() bool { return 10*min(r.Sent, r.Tries-r.Sent) > r.Tries }

// calls reports whether an address mostly asks for tokens, or calls XML-RPC and does
// not say to be a browser, as applications do.
func calls(r *Record) bool {
	for _, p := range r.Paths() {
		if strings.HasPrefix(p.Text, "POST ") {
			return strings.Contains(p.Text, "token") || strings.Contains(p.Text, "/auth") || strings.Contains(p.Text, "session") ||
				strings.Contains(p.Text, "xmlrpc") && 2*r.Browsers < r.Requests
		}
	}
	return false
}

// benign returns why an address is evidently a reader, or nothing. Few of its pages
// are missing, or the same few again and again.
func (b *Book) benign(r *Record) string {
	calm := share(r.Failed, r.Requests) < failedShare || r.failing.different() < manyFailing
	switch {
	case b.crawls(r):
		return "says to be the crawler of a search engine, only reads, and its network asked for robots.txt (not verified)"
	case r.odd.different() >= fewOdd:
		return ""
	case calm && r.browses() && 2*r.Doors < r.Requests:
		return fmt.Sprintf("loads pages as browsers do: %.0f %% are assets", 100*share(r.Assets, r.Requests))
	case r.Pictures >= fewAssets && 2*r.Pictures >= r.Requests && 2*r.Browsers >= r.Requests && r.Posts == 0:
		return "loads pictures that a page shows"
	case !calm:
		return ""
	case r.Inside >= fewAssets:
		return "is logged in"
	case 10*r.Apps >= 9*r.Requests && r.Refused < manyTries:
		return "says to be an application of WordPress, and is not refused (not verified)"
	case r.Tries >= manyTries && r.answeredBoth():
		return "logs in with success, and sometimes without"
	case r.watches():
		return "asks for one page at a slow and steady pace, as monitors do"
	}
	return ""
}

// watches reports whether an address asks for one page, three times a minute at most.
func (r *Record) watches() bool {
	paths := r.Paths()
	return r.Requests >= manyTries && r.Posts == 0 && len(paths) > 0 && uint64(paths[0].N)*10 >= uint64(r.Requests)*9 &&
		r.Last.Sub(r.First) >= time.Duration(r.Requests)*slowPace
}

// crawls reports whether an address claims to be a search engine and behaves so.
func (b *Book) crawls(r *Record) bool {
	return r.Impostors == 0 && 10*r.Engines >= 9*r.Requests && r.Posts == 0 && r.secret.different() < fewOdd && b.readsRobots(r)
}

// hasAssets reports whether the log has assets, so that their lack says something.
func (b *Book) hasAssets() bool {
	return b.requests > 0 && float64(b.assets)/float64(b.requests) >= logsAssets
}

// readsRobots reports whether the address or one of its network asked for
// robots.txt: crawlers divide the work.
func (b *Book) readsRobots(r *Record) bool { return b.reading().robots[network(r.Prefix)] }

func share(part, whole uint32) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// basis returns what a proposal goes by beside the counts: the rule's threshold, and
// the highest count on a normal day, 0 if there is none.
func (b *Book) basis(threshold, normal uint32) tuning.Basis {
	return tuning.Basis{Threshold: threshold, Known: uint64(b.Len()), Normal: normal,
		Looks: func(key edgeguard.Key) tuning.Looks { return b.Judge(key).Looks }}
}
