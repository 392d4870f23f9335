package httpauth

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/refusal"
)

// alarmUnreadable is about a request that was refused: over the limit, or not HTTP.
const alarmUnreadable = "auth_unreadable"

// headerStatus is the status that nginx is to answer with.
const headerStatus = "X-Edgeguard-Status"

// answer is the server's handler.
func (s *Server) answer(ctx *fasthttp.RequestCtx) {
	if !ctx.Conn().(*conn).Asks(ctx.Time()) {
		return // it was closed for another: what is not answered is not counted
	}
	if s.conns.Draining() {
		ctx.SetConnectionClose()
	}
	p, rest := protocolOf(unsafetext.String(ctx.Request.Header.RequestURI()))
	if p == protocolNone {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("ask at " + pathNginx + ", " + pathForward + " or " + pathEnvoy + "/\n")
		return
	}
	q := newQuestion(&ctx.Request.Header)
	defer q.end()
	verdict := s.ask(q, ctx.Conn().(*conn).peer, p, rest)
	if !s.asker.Refuses(&verdict) {
		return // fasthttp's empty 200
	}
	refused := refusal.Of(&verdict, s.asker.Policy)
	h := &ctx.Response.Header
	refused.Headers(func(name, value string) { h.SetCanonical([]byte(name), []byte(value)) })
	ctx.SetContentType(refusal.ContentType)
	if p == protocolNginx {
		ctx.SetStatusCode(fasthttp.StatusForbidden)
		h.SetCanonical([]byte(headerStatus), []byte("429"))
	} else {
		ctx.SetStatusCode(refusal.Status)
	}
	ctx.SetBody(refused.Body)
}

// ask returns the verdict on the request that a proxy asks for.
func (s *Server) ask(q *question, peer netip.Addr, p protocol, rest string) edgeguard.Verdict {
	a := s.asker
	if !a.Trust.Has(peer) {
		a.NameStranger(&q.event, peer, "a proxy")
		return a.Judge(a.Now(), &q.event, a.Decide)
	}
	finder := a.Finder
	if p == protocolNginx {
		finder = s.realIP
	}
	client := finder.Find(peer, q.values(finder.Header()))
	if !client.FromHeader() {
		return a.PassNoClient("a request to " + p.String() + " without a good " + finder.Header() +
			" names no client that can be read, and the request was let through: see `edgeguard snippets`")
	}
	q.event.Addr, q.event.Named = client.Addr, true
	q.event.Proxied = client.Hops > 1 || a.Fronted || !inline.OnThisHost(peer)
	a.CountRequest(&q.event)
	q.describe(p, rest)
	return s.once(q, p, a.Now())
}

// once decides, unless nginx has asked for the same request before. Only the
// nginx protocol has ids: the other proxies ask once, and pass on a client's
// own X-Request-Id.
func (s *Server) once(q *question, p protocol, now time.Time) edgeguard.Verdict {
	a := s.asker
	id, ok := q.value("X-Request-Id")
	if p != protocolNginx || a.LookUp || !ok || id == "" {
		return a.Judge(now, &q.event, a.Decide)
	}
	key := s.recent.key(id, &q.event)
	if verdict, found := s.recent.find(now, key); found {
		s.stats.repeated.Add(1)
		return verdict
	}
	verdict := a.Judge(now, &q.event, a.Decide)
	s.recent.add(now, key, verdict)
	return verdict
}

// unreadable answers what is not a readable request: it is refused, with
// the one status that every proxy takes for a refusal. One with too long a header
// is counted where that can be done.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	var broken *net.OpError
	if errors.As(err, &broken) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		ctx.SetStatusCode(fasthttp.StatusRequestTimeout) // it stopped in the middle: there is nothing to refuse
		return
	}
	s.stats.unreadable.Add(1)
	status := "400"
	var small *fasthttp.ErrSmallBuffer
	if errors.As(err, &small) {
		status = "431"
		s.asker.Alarm(alarmUnreadable, fmt.Sprintf("a request with a header over %d bytes was refused: have the proxy refuse it, or send fewer of the client's headers",
			s.headerLimit))
		s.countLong(ctx.Conn().(*conn))
	} else {
		s.asker.Alarm(alarmUnreadable, "a request that is not HTTP was refused: "+err.Error())
		s.asker.ReportUncounted(netip.Addr{}, edgeguard.NotHTTP)
	}
	ctx.SetStatusCode(fasthttp.StatusForbidden)
	ctx.Response.Header.SetCanonical([]byte(headerStatus), []byte(status))
}
