package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgeguard/config/key"
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

func (s *Notify) keys() key.List {
	return key.List{
		key.Items("webhooks", &s.Webhooks, s.readWebhook, (*Webhook).keys),
		key.Items("alertmanager", &s.Alertmanager, s.readAlertmanager, (*Alertmanager).keys),
	}
}

// check refuses too many receivers.
func (s *Notify) check(n yaml.Node) {
	if len(s.Webhooks)+len(s.Alertmanager) > mostReceivers {
		n.Wrong(fmt.Sprintf("has %d receivers", len(s.Webhooks)+len(s.Alertmanager)), fmt.Sprintf("name at most %d", mostReceivers))
	}
}

func newWebhook() Webhook {
	return Webhook{Receiver: Receiver{Timeout: usualTimeout, Send: []string{NotifyBlocks, Alarms, Confirmations}}, ContentType: jsonType, Every: usualNotifyEvery}
}

func (w *Webhook) keys() key.List {
	return append(w.Receiver.keys(),
		key.Path("secret_file", &w.SecretFile, "[signs](api.md#notifications) each post: `whsec_` and base64, or any text of 24 bytes or more. To change it, put the new one above the old: both sign"),
		key.Path("template_file", &w.TemplateFile, "the form of the body, see below").Usual("the [documented JSON](api.md#notifications)"),
		key.Like("content_type", &w.ContentType, contentType, "a type such as application/json or text/plain", "the body's type; another one needs a template"),
		key.Span("every", &w.Every, leastNotifyEvery, mostNotifyEvery, "the least time between two messages"),
	)
}

func (w *Webhook) entry() Entry {
	return Entry{Secrets: append([]Secret{{"secret_file", w.SecretFile}}, w.secrets()...)}
}

func (s *Notify) readWebhook(n yaml.Node) Webhook {
	w := newWebhook()
	w.keys().Read(n)
	w.settle(n, s)
	if w.TemplateFile == "" && !w.JSON() && !n.Touched("content_type", "template_file") {
		n.WrongField("content_type", "is set without a template, and the body is JSON", "set template_file, or remove it")
	}
	return w
}

func newAlertmanager() Alertmanager {
	return Alertmanager{Receiver: Receiver{Timeout: usualTimeout, Send: []string{Alarms, Confirmations}}, Resend: usualResend}
}

func (a *Alertmanager) keys() key.List {
	return append(a.Receiver.keys(),
		key.Span("resend", &a.Resend, leastResend, mostResend, "how often active alerts are sent again; they end after four times that"))
}

func (a *Alertmanager) entry() Entry { return Entry{Secrets: a.secrets()} }

func (s *Notify) readAlertmanager(n yaml.Node) Alertmanager {
	a := newAlertmanager()
	a.keys().Read(n)
	a.settle(n, s)
	return a
}

// secrets are the files of the URL and of the headers.
func (r *Receiver) secrets() []Secret {
	all := []Secret{{"url_file", r.URLFile}}
	for i, h := range r.Headers {
		all = append(all, Secret{yaml.ItemPath("headers", i) + ".file", h.File})
	}
	return all
}

// keys are those of both kinds.
func (r *Receiver) keys() key.List {
	return key.List{
		key.Like("name", &r.Name, receiverName, "small letters, digits, _ and -, at most 32",
			"what metrics, alarms and `edgeguard notify test` call it").Usual("required"),
		key.Value("url", &r.URL, readReceiverURL, "https, or http on this host's loopback addresses only",
			"its address. Of an Alertmanager, without `/api/v2/alerts`").Usual("one of both"),
		key.Path("url_file", &r.URLFile, "a file with it, where it is a password, as Slack's and Discord's. Never shown").Usual("one of both"),
		key.Path("ca_file", &r.CAFile, "certificates to trust, in PEM").Usual("the system's"),
		key.At("headers", &r.Headers, readHeaders, headersText, "up to 16", "of each post: `{name: Authorization, file: /etc/edgeguard/token}`. The file has the whole value (`Bearer x`); `value:` instead is for what is no secret"),
		key.Words("send", &r.Send, readSend, "any of `blocks`, `alarms`, `confirmations`", "what is sent"),
		key.Truth("fleet", &r.Fleet, "`true`: also other nodes' blocks. On two nodes you are told twice"),
		key.Span("timeout", &r.Timeout, leastTimeout, mostTimeout, "how long a post may take"),
	}
}

// taken reports whether a receiver before has the name.
func (s *Notify) taken(name string) bool {
	return name != "" && (slices.ContainsFunc(s.Webhooks, func(w Webhook) bool { return w.Name == name }) ||
		slices.ContainsFunc(s.Alertmanager, func(a Alertmanager) bool { return a.Name == name }))
}

// settle refuses a receiver without a name of its own or an address.
func (r *Receiver) settle(n yaml.Node, s *Notify) {
	if s.taken(r.Name) {
		n.WrongField("name", "is the name of another receiver", "give each its own")
	}
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

func readHeaders(n yaml.Node) (all []NotifyHeader) {
	n.List(func(n yaml.Node) { all = append(all, readHeader(n)) })
	return all
}

func headersText(p *yaml.Printer, path string, all []NotifyHeader) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].keys().Flow(p, yaml.ItemPath(path, i))
	}
	if len(all) == 0 {
		return ""
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func (h *NotifyHeader) keys() key.List {
	return key.List{
		key.Like("name", &h.Name, headerName, "a header's name, such as Authorization", ""),
		key.Path("file", &h.File, ""),
		key.Like("value", &h.Value, headerValue, "text without control characters, of ASCII", ""),
	}
}

func readHeader(n yaml.Node) NotifyHeader {
	var h NotifyHeader
	h.keys().Read(n)
	if ownName.MatchString(h.Name) {
		n.WrongField("name", fmt.Sprintf("%q is set by edgeguard", h.Name), "remove it; the type of the body is content_type")
	}
	if (h.Name == "" || (h.Value == "") == (h.File == "")) && !n.Touched("name", "value", "file") {
		n.Wrong("requires name, and exactly one of value and file", "write {name: Authorization, file: /etc/edgeguard/token}")
	}
	if h.Value != "" && secretName.MatchString(h.Name) && !n.Touched("name", "value") {
		n.WrongField("value", "is a secret in the config, which is shown and copied", "put the whole value into a file, and set file instead")
	}
	return h
}
