package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgeguard/config/yaml"
	"edgeguard/notify"
)

// What a receiver may be sent.
const (
	NotifyBlocks  = "blocks"
	Alarms        = "alarms"
	Confirmations = "confirmations"
)

// Notify is the receivers of notifications.
type Notify struct {
	Webhooks     []Webhook
	Alertmanager []Alertmanager
}

// Receiver is what both kinds of receivers have.
type Receiver struct {
	Name         string
	URL, URLFile string // one of them
	Headers      []NotifyHeader
	CAFile       string // certificates that are trusted instead of the system's
	Send         []string
	// Fleet sends the blocks of the fleet's other nodes too.
	Fleet   bool
	Timeout time.Duration
}

// NotifyHeader is one header of a request: its value, or the file that has it.
type NotifyHeader struct{ Name, Value, File string }

// Webhook is a receiver that is posted messages.
type Webhook struct {
	Receiver
	SecretFile   string // of what signs; empty for none
	TemplateFile string // empty for the documented JSON
	ContentType  string
	Every        time.Duration // the least time between two messages
}

// Alertmanager is a receiver that is posted alerts.
type Alertmanager struct {
	Receiver
	Resend time.Duration // how often active alerts are sent again
}

// Sends reports whether the receiver is sent what.
func (r *Receiver) Sends(what string) bool { return slices.Contains(r.Send, what) }

// JSON reports whether the webhook is posted JSON.
func (w *Webhook) JSON() bool {
	base, _, _ := strings.Cut(w.ContentType, ";")
	return strings.TrimSpace(base) == jsonType || strings.HasSuffix(strings.TrimSpace(base), "+json")
}

const (
	jsonType      = "application/json"
	mostReceivers = 16
	mostHeaders   = 16

	usualTimeout, leastTimeout, mostTimeout             = 10 * time.Second, time.Second, time.Minute
	usualNotifyEvery, leastNotifyEvery, mostNotifyEvery = time.Minute, 10 * time.Second, 24 * time.Hour
	usualResend, leastResend, mostResend                = time.Minute, 10 * time.Second, time.Hour
)

var (
	receiverName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	headerName   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	contentType  = regexp.MustCompile(`^[a-z]+/[A-Za-z0-9.+-]+(; ?[a-z]+=[A-Za-z0-9-]+)?$`)
	headerValue  = regexp.MustCompile(`^[ -~]{1,200}$`)
	secretName   = regexp.MustCompile(`(?i)auth|token|key|secret|cookie|password`)
	ownName      = regexp.MustCompile(`(?i)^(content-.*|transfer-encoding|connection|host|te|trailer|upgrade|expect|user-agent|webhook-.*)$`)
)

// Read reads the section.
func (s *Notify) Read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"webhooks": func(n yaml.Node) { n.List(func(n yaml.Node) { s.Webhooks = append(s.Webhooks, s.readWebhook(n)) }) },
		"alertmanager": func(n yaml.Node) {
			n.List(func(n yaml.Node) { s.Alertmanager = append(s.Alertmanager, s.readAlertmanager(n)) })
		},
	})
	if len(s.Webhooks)+len(s.Alertmanager) > mostReceivers {
		n.Wrong(fmt.Sprintf("has %d receivers", len(s.Webhooks)+len(s.Alertmanager)), fmt.Sprintf("name at most %d", mostReceivers))
	}
}

func (s *Notify) readWebhook(n yaml.Node) Webhook {
	w := Webhook{ContentType: jsonType, Every: usualNotifyEvery}
	w.Timeout, w.Send = usualTimeout, []string{NotifyBlocks, Alarms, Confirmations}
	fields := w.fields(s)
	fields["secret_file"] = func(n yaml.Node) { w.SecretFile = n.AbsPath() }
	fields["template_file"] = func(n yaml.Node) { w.TemplateFile = n.AbsPath() }
	fields["content_type"] = func(n yaml.Node) {
		w.ContentType = n.Like(contentType, "a type such as application/json or text/plain")
	}
	fields["every"] = func(n yaml.Node) { w.Every = n.Span(leastNotifyEvery, mostNotifyEvery) }
	n.Mapping(fields)
	w.settle(n)
	if w.TemplateFile == "" && !w.JSON() && !n.Touched("content_type", "template_file") {
		n.WrongField("content_type", "is set without a template, and the body is JSON", "set template_file, or remove it")
	}
	return w
}

func (s *Notify) readAlertmanager(n yaml.Node) Alertmanager {
	a := Alertmanager{Resend: usualResend}
	a.Timeout, a.Send = usualTimeout, []string{Alarms, Confirmations}
	fields := a.fields(s)
	fields["resend"] = func(n yaml.Node) { a.Resend = n.Span(leastResend, mostResend) }
	n.Mapping(fields)
	a.settle(n)
	return a
}

// fields returns how what both kinds have is read.
func (r *Receiver) fields(s *Notify) yaml.Fields {
	return yaml.Fields{
		"name": func(n yaml.Node) {
			r.Name = n.Like(receiverName, "small letters, digits, _ and -, at most 32")
			if s.taken(r.Name) {
				n.Wrong("is the name of another receiver", "give each its own")
			}
		},
		"url":      func(n yaml.Node) { r.URL = readReceiverURL(n) },
		"url_file": func(n yaml.Node) { r.URLFile = n.AbsPath() },
		"headers":  func(n yaml.Node) { n.List(func(n yaml.Node) { r.Headers = append(r.Headers, readHeader(n)) }) },
		"ca_file":  func(n yaml.Node) { r.CAFile = n.AbsPath() },
		"send":     func(n yaml.Node) { r.Send = readSend(n) },
		"fleet":    func(n yaml.Node) { r.Fleet = n.Truth() },
		"timeout":  func(n yaml.Node) { r.Timeout = n.Span(leastTimeout, mostTimeout) },
	}
}

// taken reports whether a receiver before has the name.
func (s *Notify) taken(name string) bool {
	return name != "" && (slices.ContainsFunc(s.Webhooks, func(w Webhook) bool { return w.Name == name }) ||
		slices.ContainsFunc(s.Alertmanager, func(a Alertmanager) bool { return a.Name == name }))
}

// settle refuses a receiver without a name or an address.
func (r *Receiver) settle(n yaml.Node) {
	if r.Name == "" && !n.Touched("name") {
		n.Wrong("has no name", "set name, such as team: messages, metrics and alarms about the receiver have it")
	}
	if (r.URL == "") == (r.URLFile == "") && !n.Touched("url", "url_file") {
		n.Wrong("requires exactly one of url and url_file", "set url, or url_file where the address is a secret, as Slack's is")
	}
	if len(r.Headers) > mostHeaders {
		n.WrongField("headers", fmt.Sprintf("has %d headers", len(r.Headers)), fmt.Sprintf("name at most %d", mostHeaders))
	}
}

func readReceiverURL(n yaml.Node) string {
	text, ok := n.Value()
	if !ok {
		return ""
	}
	u, wrong, fix := notify.ParseTarget(text)
	if wrong != "" {
		n.Wrong(wrong, fix)
		return ""
	}
	if notify.HoldsSecret(u) {
		n.Warn("is an address that is a password itself: who reads the config can write to your channel", "put the address into a file, and set url_file instead")
	}
	return text
}

func readSend(n yaml.Node) []string {
	all := []string{}
	n.List(func(n yaml.Node) {
		if what := n.Choice(NotifyBlocks, Alarms, Confirmations); what != "" && !slices.Contains(all, what) {
			all = append(all, what)
		}
	})
	if len(all) == 0 && !n.Touched() {
		n.Wrong("is an empty list", "name at least one of blocks, alarms and confirmations")
	}
	return all
}

func readHeader(n yaml.Node) NotifyHeader {
	var h NotifyHeader
	n.Mapping(yaml.Fields{
		"name": func(n yaml.Node) {
			if h.Name = n.Like(headerName, "a header's name, such as Authorization"); ownName.MatchString(h.Name) {
				n.Wrong(fmt.Sprintf("%q is set by edgeguard", h.Name), "remove it; the type of the body is content_type")
			}
		},
		"value": func(n yaml.Node) { h.Value = n.Like(headerValue, "text without control characters, of ASCII") },
		"file":  func(n yaml.Node) { h.File = n.AbsPath() },
	})
	if (h.Name == "" || (h.Value == "") == (h.File == "")) && !n.Touched("name", "value", "file") {
		n.Wrong("requires name, and exactly one of value and file", "write {name: Authorization, file: /etc/edgeguard/token}")
	}
	if h.Value != "" && secretName.MatchString(h.Name) && !n.Touched("name", "value") {
		n.WrongField("value", "is a secret in the config, which is shown and copied", "put the whole value into a file, and set file instead")
	}
	return h
}

// Write writes the section, if there is a receiver.
func (s *Notify) Write(p *yaml.Printer) {
	if len(s.Webhooks)+len(s.Alertmanager) == 0 {
		return
	}
	p.Field(0, "notify", "")
	if len(s.Webhooks) > 0 {
		p.Field(1, "webhooks", "")
	}
	for i, w := range s.Webhooks {
		path := yaml.ItemPath("notify.webhooks", i)
		text := w.text(p, path)
		for _, f := range []struct{ name, file string }{{"secret_file", w.SecretFile}, {"template_file", w.TemplateFile}} {
			if f.file != "" {
				text += ", " + f.name + ": " + p.Quote(yaml.JoinPath(path, f.name), f.file)
			}
		}
		p.Field(2, "- {name", text+fmt.Sprintf(", content_type: %s, every: %s}", yaml.Quote(w.ContentType), yaml.Duration(w.Every)))
	}
	if len(s.Alertmanager) > 0 {
		p.Field(1, "alertmanager", "")
	}
	for i, a := range s.Alertmanager {
		p.Field(2, "- {name", a.text(p, yaml.ItemPath("notify.alertmanager", i))+fmt.Sprintf(", resend: %s}", yaml.Duration(a.Resend)))
	}
}

// text returns what both kinds have, without the name of the first field.
func (r *Receiver) text(p *yaml.Printer, path string) string {
	text := yaml.Quote(r.Name)
	for _, f := range []struct{ name, value string }{{"url", r.URL}, {"url_file", r.URLFile}, {"ca_file", r.CAFile}} {
		if f.value != "" {
			text += ", " + f.name + ": " + p.Quote(yaml.JoinPath(path, f.name), f.value)
		}
	}
	if len(r.Headers) > 0 {
		var all []string
		for i, h := range r.Headers {
			one := "{name: " + yaml.Quote(h.Name)
			if h.File != "" {
				one += ", file: " + p.Quote(yaml.JoinPath(yaml.ItemPath(yaml.JoinPath(path, "headers"), i), "file"), h.File)
			} else {
				one += ", value: " + yaml.Quote(h.Value)
			}
			all = append(all, one+"}")
		}
		text += ", headers: [" + strings.Join(all, ", ") + "]"
	}
	return text + fmt.Sprintf(", send: %s, fleet: %t, timeout: %s", yaml.Flow(r.Send), r.Fleet, yaml.Duration(r.Timeout))
}
