package neighbours

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/notify"
)

// webhook is a receiver that is posted messages.
type webhook struct {
	config config.Webhook
	desk   notify.Desk
	opened atomic.Pointer[openWebhook]
	batch  *notify.Batch // what is prepared
}

// openWebhook is what the files of a webhook had when they were read.
type openWebhook struct {
	*notify.Sender
	template *notify.Template // nil for the documented form
}

func newWebhook(w *config.Webhook, names notify.Names) *webhook {
	return &webhook{config: *w, desk: notify.Desk{Names: names, Receiver: w.Name, Every: w.Every}}
}

// settings returns those of a receiver for package notify.
func settings(r *config.Receiver, version string) notify.SenderSettings {
	s := notify.SenderSettings{URL: r.URL, URLFile: r.URLFile, CAFile: r.CAFile, ContentType: "application/json", Agent: "edgeguard/" + version, Timeout: r.Timeout}
	for _, h := range r.Headers {
		s.Headers = append(s.Headers, notify.Header(h))
	}
	return s
}

// open reads the files of a webhook.
func open(w *config.Webhook, version string) (*openWebhook, error) {
	s := settings(&w.Receiver, version)
	s.SecretFile, s.ContentType = w.SecretFile, w.ContentType
	to, err := notify.OpenSender(s)
	if err != nil {
		return nil, err
	}
	form, err := readTemplate(w)
	return &openWebhook{to, form}, err
}

// readTemplate reads and checks the template of a webhook, nil for none.
func readTemplate(w *config.Webhook) (*notify.Template, error) {
	if w.TemplateFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(w.TemplateFile)
	if err != nil {
		return nil, err
	}
	form, err := notify.ParseTemplate(string(text))
	if err == nil {
		err = form.Check(w.JSON())
	}
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", w.TemplateFile, err)
	}
	return form, nil
}

// body returns a batch as the webhook is posted it.
func (o *openWebhook) body(b *notify.Batch) ([]byte, error) {
	if o.template == nil {
		return b.JSON()
	}
	return o.template.Render(b)
}

// send posts a batch.
func (o *openWebhook) send(ctx context.Context, now time.Time, b *notify.Batch) answer {
	body, err := o.body(b)
	if err != nil {
		return answer{Error: fmt.Errorf("the template does not make a text of this message: %w", err), Refused: true}
	}
	return o.PostBody(ctx, now, b.ID, body)
}

func (w *webhook) read(version string) error {
	opened, err := open(&w.config, version)
	if err == nil {
		w.opened.Store(opened)
	}
	return err
}

// block counts a block of no attack: of attacks the webhook is told once.
func (w *webhook) block(now time.Time, b *edgeguard.Block) {
	if b.Rule == edgeguard.ManualRule || edgeguard.Owner(b.Rule) != "" {
		w.desk.Block(now, b, "")
	}
}

func (w *webhook) attack(now time.Time, b *edgeguard.Block, id string) { w.desk.Block(now, b, id) }

func (w *webhook) next(now time.Time, active []notify.Condition, known, monitor bool) bool {
	if w.batch == nil {
		w.batch = w.desk.NextBatch(now, active, known, monitor)
	}
	return w.batch != nil
}

func (w *webhook) last(now time.Time, monitor bool) bool {
	if w.batch == nil {
		w.batch = w.desk.LastBatch(now, monitor)
	}
	return w.batch != nil
}

func (w *webhook) post(ctx context.Context, now time.Time) answer {
	return w.opened.Load().send(ctx, now, w.batch)
}

func (w *webhook) arrived(time.Time) {
	w.desk.Arrived()
	w.batch = nil
}

func (w *webhook) drop() int {
	lost := w.desk.GiveUp(w.batch)
	w.batch = nil
	return lost
}

func (w *webhook) made() time.Time { return w.batch.Made() }
func (w *webhook) waiting() int    { return w.desk.Waiting() }
