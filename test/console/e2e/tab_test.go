package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// tab is a page of the browser. Whatever the browser reports about it fails the
// test: a message, an exception, a failed request, a violation of the policy.
type tab struct {
	context.Context
	t       *testing.T
	cookies cdp.BrowserContextID

	mu       sync.Mutex // guards what follows
	faults   []string
	requests []*network.EventRequestWillBeSent
	bytes    map[network.RequestID]float64 // over the wire
	expected []string                      // parts of faults that are meant
}

// newTab opens a tab until the test ends, with cookies of its own.
func newTab(t *testing.T) *tab {
	t.Helper()
	var cookies cdp.BrowserContextID
	err := chromedp.Run(browser, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		cookies, err = target.CreateBrowserContext().Do(ofBrowser(ctx))
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = chromedp.Run(browser, chromedp.ActionFunc(func(ctx context.Context) error {
			return target.DisposeBrowserContext(cookies).Do(ofBrowser(ctx))
		}))
	})
	return opened(t, cookies)
}

// another opens a tab beside this one, with the same cookies.
func (b *tab) another() *tab {
	b.t.Helper()
	return opened(b.t, b.cookies)
}

// ofBrowser has a command go to the browser and not to a tab.
func ofBrowser(ctx context.Context) context.Context {
	return cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
}

func opened(t *testing.T, cookies cdp.BrowserContextID) *tab {
	t.Helper()
	var id target.ID
	err := chromedp.Run(browser, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		// Without a window of its own a tab with other cookies is refused.
		id, err = target.CreateTarget("about:blank").WithBrowserContextID(cookies).WithNewWindow(true).Do(ofBrowser(ctx))
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := chromedp.NewContext(browser, chromedp.WithTargetID(id))
	b := &tab{Context: ctx, t: t, cookies: cookies, bytes: make(map[network.RequestID]float64)}
	chromedp.ListenTarget(ctx, b.hear)
	b.do(log.Enable(), runtime.Enable(), network.Enable(), page.Enable())
	t.Cleanup(func() {
		for _, fault := range b.said() {
			t.Errorf("the browser reports: %s", fault)
		}
		end()
	})
	return b
}

// hear notes what the browser reports.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		said, _ := json.Marshal(e.Args)
		b.faults = append(b.faults, fmt.Sprintf("console %s: %s", e.Type, said))
	case *log.EventEntryAdded:
		b.faults = append(b.faults, fmt.Sprintf("log %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e)
	case *network.EventLoadingFailed:
		if !e.Canceled { // a page that is left ends its stream
			b.faults = append(b.faults, "failed request: "+e.ErrorText+" "+string(e.BlockedReason))
		}
	case *network.EventLoadingFinished:
		b.bytes[e.RequestID] = e.EncodedDataLength
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			b.faults = append(b.faults, fmt.Sprintf("failed request: %d %s", e.Response.Status, e.Response.URL))
		}
	}
}

// said returns what was reported and not expected.
func (b *tab) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.faults), func(fault string) bool {
		return slices.ContainsFunc(b.expected, func(part string) bool { return strings.Contains(fault, part) })
	})
}

// expects says which faults are what the test is about.
func (b *tab) expects(parts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, parts...)
}

// do runs actions within the test's patience.
func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.try(actions...); err != nil {
		b.t.Fatal(err)
	}
}

// try is do, where a failure is an answer.
func (b *tab) try(actions ...chromedp.Action) error {
	ended := make(chan error, 1)
	// The first Run of a tab opens it: its context must be the tab's own.
	go func() { ended <- chromedp.Run(b.Context, actions...) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return fmt.Errorf("the browser does not answer; it reported %q", b.said())
	}
}

// open goes to a page and waits until it is loaded.
func (b *tab) open(address string) {
	b.t.Helper()
	if err := b.try(chromedp.Navigate(address)); err != nil {
		b.t.Fatalf("%s: %v", address, err)
	}
}

// eval returns what an expression says in the page.
func eval[Result any](b *tab, expression string) (result Result) {
	b.t.Helper()
	if err := b.try(chromedp.Evaluate(expression, &result)); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return result
}

// until waits for what the page must show. The expression is of a truth value.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	b.wait(what, func() bool {
		var shown bool
		_ = b.try(chromedp.Evaluate(expression, &shown)) // a page that is left has no answer
		return shown
	})
}

// wait waits for a state.
func (b *tab) wait(what string, holds func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("never: %s\n%s\n%q", what, eval[string](b, "location.href+'\\n'+document.body.innerText"), b.said())
		}
	}
}

// isolated returns what an expression says in a world of its own: the page's
// scripts and its policy do not bind it, and it leaves them as they are.
func isolated[Result any](b *tab, script, expression string) (result Result) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		tree, err := page.GetFrameTree().Do(ctx)
		if err != nil {
			return err
		}
		world, err := page.CreateIsolatedWorld(tree.Frame.ID).Do(ctx)
		if err != nil {
			return err
		}
		if _, wrong, err := runtime.Evaluate(script).WithContextID(world).Do(ctx); err != nil || wrong != nil {
			return fmt.Errorf("script: %w %v", err, wrong)
		}
		answer, wrong, err := runtime.Evaluate(expression).WithContextID(world).WithAwaitPromise(true).WithReturnByValue(true).Do(ctx)
		if err != nil || wrong != nil {
			return fmt.Errorf("%s: %w %v", expression, err, wrong)
		}
		return json.Unmarshal(answer.Value, &result)
	}))
	return result
}

// look is how a page is looked at.
type look struct {
	width  int64
	scheme string // light or dark
	forced bool   // colours of the system only
	text   int64  // the size of text that the reader chose, 16 if 0
}

func (l look) String() string {
	s := fmt.Sprintf("%d %s", l.width, l.scheme)
	if l.forced {
		s += " forced-colors"
	}
	if l.text != 0 {
		s += fmt.Sprintf(" text of %d px", l.text)
	}
	return s
}

// as has the tab look so.
func (b *tab) as(l look) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}, {Name: "forced-colors", Value: "none"}}
	if l.forced {
		features[2].Value = "active"
	}
	text := cmp.Or(l.text, 16)
	b.do(page.SetFontSizes(&page.FontSizes{Standard: text, Fixed: text * 13 / 16}), emulation.SetDeviceMetricsOverride(l.width, 900, 1, l.width < 500), emulation.SetEmulatedMedia().WithFeatures(features))
}

// otherHosts returns the requests that went to another host than a page's.
func (b *tab) otherHosts(address string) (others []string) {
	own, _ := url.Parse(address)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if to, err := url.Parse(r.Request.URL); err != nil || to.Scheme != "data" && to.Host != own.Host {
			others = append(others, r.Request.URL)
		}
	}
	return others
}

// withoutScripts has no page run a script of its own.
func (b *tab) withoutScripts() {
	b.t.Helper()
	b.do(emulation.SetScriptExecutionDisabled(true))
}

// typed puts the focus on an element, and types as a person does.
func (b *tab) typed(selector, keys string) {
	b.t.Helper()
	b.do(chromedp.Focus(selector, chromedp.ByQuery), chromedp.KeyEvent(keys))
}

// click clicks into the middle of an element.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(selector, chromedp.ByQuery))
}

// awaited has an expression's promise be waited for.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
