package neighbours

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/notify"
)

// alertsPath is where an Alertmanager takes alerts, below its address.
const alertsPath = "api/v2/alerts"

// alertmanager is a receiver that is posted alerts.
type alertmanager struct {
	config config.Alertmanager
	names  notify.Names
	opened atomic.Pointer[notify.Sender]

	mu       sync.Mutex // guards activity; a leaf, as a desk's
	activity notify.Activity

	book   notify.AlertBook
	due    []notify.Alert // what is prepared
	at     time.Time
	inBook atomic.Int64 // alerts of the book
}

func newAlertmanager(a *config.Alertmanager, names notify.Names) *alertmanager {
	return &alertmanager{config: *a, names: names, book: notify.AlertBook{Node: names.Node, Epoch: names.Epoch, Resend: a.Resend}}
}

// openAlertmanager reads the files of an Alertmanager.
func openAlertmanager(a *config.Alertmanager, version string) (*notify.Sender, error) {
	s := settings(&a.Receiver, version)
	s.Path = alertsPath
	return notify.OpenSender(s)
}

func (a *alertmanager) read(version string) error {
	opened, err := openAlertmanager(&a.config, version)
	if err == nil {
		a.opened.Store(opened)
	}
	return err
}

func (a *alertmanager) block(now time.Time, b *edgeguard.Block) {
	a.mu.Lock()
	a.activity.Add(now, b)
	a.mu.Unlock()
}

// attack counts nothing: an alert lasts as long as its rule makes blocks.
func (a *alertmanager) attack(time.Time, *edgeguard.Block, string) {}

func (a *alertmanager) next(now time.Time, active []notify.Condition, known, _ bool) bool {
	a.mu.Lock()
	blocks := a.activity.Active(now, &a.names)
	a.mu.Unlock()
	if known {
		a.book.SetActive(now, append(active, blocks...))
	}
	a.inBook.Store(int64(a.book.Len()))
	a.due, a.at = a.book.DueAlerts(now), now
	return len(a.due) > 0
}

// last prepares nothing: the alerts of a node that is gone end by themselves, and until
// then they are true.
func (a *alertmanager) last(time.Time, bool) bool { return false }

func (a *alertmanager) post(ctx context.Context, now time.Time) answer {
	body, err := notify.AlertsJSON(a.due)
	if err != nil {
		return answer{Error: err, Refused: true}
	}
	return a.opened.Load().PostBody(ctx, now, "", body)
}

func (a *alertmanager) arrived(now time.Time) {
	a.book.Arrived(now)
	a.inBook.Store(int64(a.book.Len()))
}

// drop loses nothing: the alerts are prepared again as they are then.
func (a *alertmanager) drop() int { return 0 }

func (a *alertmanager) made() time.Time { return a.at }
func (a *alertmanager) waiting() int    { return int(a.inBook.Load()) }
