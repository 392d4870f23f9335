package neighbours

import (
	"context"
	"errors"
	"time"

	"edgeguard/config"
	"edgeguard/notify"
)

// NotifyTrial is what came of a test message to one receiver.
type NotifyTrial struct {
	Name   string
	Host   string // where it is, without the path, which may be a secret
	Status int    // of its answer, 0 without one
	Answer string // the beginning of its answer's body
	Error  error  // nil where it accepted
}

// NotifyTrials sends test messages to receivers of a config, without a node.
type NotifyTrials struct {
	Node, Version string
	// Run is a text that no other test has, so that no receiver takes it for a retry.
	Run string
}

func (t *NotifyTrials) names() notify.Names {
	return notify.Names{Node: t.Node, Run: t.Run, Epoch: func(at time.Time) time.Time { return at }}
}

// Webhook tries a webhook.
func (t *NotifyTrials) Webhook(ctx context.Context, now time.Time, w *config.Webhook) NotifyTrial {
	trial := NotifyTrial{Name: w.Name}
	opened, err := open(w, t.Version)
	if err != nil {
		trial.Error = err
		return trial
	}
	names := t.names()
	return trial.of(opened.Host(), opened.send(ctx, now, names.TestBatch(now, w.Name)))
}

// Alertmanager tries an Alertmanager, with an alert that ends after a minute.
func (t *NotifyTrials) Alertmanager(ctx context.Context, now time.Time, a *config.Alertmanager) NotifyTrial {
	trial := NotifyTrial{Name: a.Name}
	opened, err := openAlertmanager(a, t.Version)
	if err != nil {
		trial.Error = err
		return trial
	}
	book := notify.AlertBook{Node: t.Node, Epoch: t.names().Epoch}
	body, err := notify.AlertsJSON(book.TestAlert(now))
	if err != nil {
		trial.Error = err
		return trial
	}
	return trial.of(opened.Host(), opened.PostBody(ctx, now, "", body))
}

func (t NotifyTrial) of(host string, a answer) NotifyTrial {
	t.Host, t.Status, t.Answer, t.Error = host, a.Status, a.Text, a.Error
	return t
}

// CheckNotify reads the templates of a config, and renders them with samples. The error names
// every one that is wrong.
func CheckNotify(s *config.Notify) error {
	var errs []error
	for i := range s.Webhooks {
		_, err := readTemplate(&s.Webhooks[i])
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
