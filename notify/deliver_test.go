package notify

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes a file of a test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// sender opens a sender with usual settings.
func sender(t *testing.T, s SenderSettings) *Sender {
	t.Helper()
	if s.ContentType == "" {
		s.ContentType = "application/json"
	}
	if s.Timeout == 0 {
		s.Timeout = 10 * time.Second
	}
	opened, err := OpenSender(s)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// raw listens and answers each connection as a test says, without HTTP's rules.
func raw(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answer(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return "http://" + l.Addr().String() + "/services/T0SECRET/xyz"
}

// head reads the head of a request.
func head(c net.Conn) {
	buffer := make([]byte, 64<<10)
	_, _ = c.Read(buffer)
}

// TestReceivers: every receiver that does not accept makes one clear line, in a bounded time,
// without the address's path.
func TestReceivers(t *testing.T) {
	// A hanging receiver reads until the sender leaves.
	hang := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	say := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			head(c)
			_, _ = io.WriteString(c, text)
			if t, ok := c.(*net.TCPConn); ok {
				_ = t.CloseWrite()
			}
			_, _ = io.Copy(io.Discard, c)
		}
	}
	endless := func(first string) func(net.Conn) {
		return func(c net.Conn) {
			head(c)
			_, err := io.WriteString(c, first)
			for err == nil {
				_, err = io.WriteString(c, strings.Repeat("spam ", 1000))
			}
		}
	}
	for name, of := range map[string]struct {
		answer  func(net.Conn)
		want    string
		refused bool
		after   time.Duration
	}{
		"accepts":        {say("HTTP/1.1 204 No Content\r\n\r\n"), "", false, 0},
		"endless body":   {endless("HTTP/1.1 200 OK\r\n\r\n"), "", false, 0},
		"endless chunks": {endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"), "", false, 0},
		"endless head":   {endless("HTTP/1.1 200 OK\r\nX: "), "server response headers exceeded", false, 0},
		"hangs":          {hang, "did not answer within 300ms", false, 0},
		"closes":         {func(net.Conn) {}, "closed the connection before it answered", false, 0},
		"closes midway":  {say("HTTP/1.1 200 OK\r\nContent-Le"), "closed the connection in the middle", false, 0},
		"no HTTP":        {say("SSH-2.0-OpenSSH_9.2\r\n\r\n"), "does not answer in HTTP", false, 0},
		"fails":          {say("HTTP/1.1 500 x\r\n\r\ndatabase\x1b[31m is\n down"), "it failed: 500 Internal Server Error: database?[31m is down", false, 0},
		"busy":           {say("HTTP/1.1 429 x\r\nRetry-After: 17\r\n\r\n"), "it asks to wait: 429 Too Many Requests", false, 17 * time.Second},
		"busy for years": {say("HTTP/1.1 503 x\r\nRetry-After: 2147483640\r\n\r\n"), "it asks to wait: 503 Service Unavailable", false, mostWait},
		"busy until":     {say("HTTP/1.1 503 x\r\nRetry-After: Fri, 02 Jan 2026 03:04:35 GMT\r\n\r\n"), "it asks to wait: 503", false, 30 * time.Second},
		"busy, nonsense": {say("HTTP/1.1 429 x\r\nRetry-After: -9x\r\n\r\n"), "it asks to wait", false, 0},
		"redirects":      {say("HTTP/1.1 307 x\r\nLocation: http://169.254.169.254/latest/\r\n\r\n"), "it redirects to http://169.254.169.254, which", true, 0},
		"moved":          {say("HTTP/1.1 301 x\r\nLocation: https://other.example/secret\r\n\r\n"), "it redirects to https://other.example, which is not followed; set url to where it leads (301)", true, 0},
		"refuses":        {say("HTTP/1.1 401 x\r\n\r\nbad token for /services/T0SECRET/xyz"), "it refuses us: 401 Unauthorized: bad token for /…; check its address, and the files of its secrets", true, 0},
		"does not like":  {say("HTTP/1.1 400 x\r\n\r\ninvalid_payload"), "it refuses the message: 400 Bad Request: invalid_payload; check the template", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := SenderSettings{URL: raw(t, of.answer)}
			if name == "hangs" {
				s.Timeout = 300 * time.Millisecond
			}
			a := sender(t, s).PostBody(t.Context(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "msg_1", []byte("{}"))
			if of.want == "" {
				if a.Error != nil {
					t.Error(a.Error)
				}
				return
			}
			if a.Error == nil || !strings.Contains(a.Error.Error(), of.want) || a.Refused != of.refused || a.After != of.after {
				t.Fatalf("%+v, want %q, refused %t, after %v", a, of.want, of.refused, of.after)
			}
			if text := a.Error.Error(); strings.Contains(text, "T0SECRET") || strings.ContainsAny(text, "\n\x1b") || len(text) > 500 {
				t.Errorf("%q", text)
			}
		})
	}
}

// TestNobody: a receiver that is not there makes one clear line too.
func TestNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	for url, want := range map[string]string{
		"http://" + gone + "/T0SECRET":           gone + " refuses the connection: nothing listens there",
		"https://nothing.invalid/T0SECRET?token": "the name nothing.invalid is not found",
	} {
		a := sender(t, SenderSettings{URL: url}).PostBody(t.Context(), time.Now(), "msg_1", nil)
		if a.Error == nil || !strings.Contains(a.Error.Error(), want) || strings.Contains(a.Error.Error(), "SECRET") {
			t.Errorf("%v, want %q", a.Error, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := sender(t, SenderSettings{URL: "http://" + gone}).PostBody(ctx, time.Now(), "", nil); a.Error == nil || !strings.Contains(a.Error.Error(), "before the node ended") {
		t.Error(a.Error)
	}
}

// TestTLS: the certificate is verified, by the system's authorities or the given ones.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	if a := sender(t, SenderSettings{URL: server.URL}).PostBody(t.Context(), time.Now(), "", nil); a.Error == nil || !strings.Contains(a.Error.Error(), "certificate of an unknown authority; set ca_file") {
		t.Error(a.Error)
	}
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	if a := sender(t, SenderSettings{URL: server.URL, CAFile: ca}).PostBody(t.Context(), time.Now(), "", nil); a.Error != nil {
		t.Error(a.Error)
	}
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	if a := sender(t, SenderSettings{URL: "https://localhost:" + port, CAFile: ca}).PostBody(t.Context(), time.Now(), "", nil); a.Error == nil || !strings.Contains(a.Error.Error(), "certificate for another name") {
		t.Error(a.Error)
	}
}

// verify is a receiver's check of a signature, as docs/api.md has it.
const verify = `
import base64, hashlib, hmac, sys
def verify(secret, headers, body, now):
    if abs(now - int(headers["webhook-timestamp"])) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
    signed = (headers["webhook-id"] + "." + headers["webhook-timestamp"] + ".").encode() + body
    mine = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest("v1," + mine, one) for one in headers["webhook-signature"].split())
secret, id, stamp, signature = sys.argv[1:5]
headers = {"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": signature}
print(verify(secret, headers, sys.stdin.buffer.read(), int(stamp)))
`

// TestSignature: Python's hmac verifies what is signed, with each of the secrets, and
// nothing else.
func TestSignature(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	secrets := []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=", "an older secret of plain text"}
	got := make(chan http.Header, 1)
	body := `{"text":"192.0.2.7 is blocked, 客戶 ☎"}`
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if text, _ := io.ReadAll(r.Body); string(text) != body {
			t.Errorf("body %q", text)
		}
		got <- r.Header
	}))
	defer server.Close()
	s := sender(t, SenderSettings{
		URL: server.URL, SecretFile: write(t, "secret", secrets[0]+"\n\n"+secrets[1]+"\n"), Agent: "edgeguard/1",
		Headers: []Header{{Name: "Title", Value: "a title"}, {Name: "Authorization", File: write(t, "token", "Bearer T0SECRET\n")}},
	})
	if a := s.PostBody(t.Context(), time.Unix(1_767_323_045, 0), "msg_0a1b_team_7", []byte(body)); a.Error != nil {
		t.Fatal(a.Error)
	}
	h := <-got
	if h.Get("Authorization") != "Bearer T0SECRET" || h.Get("Title") != "a title" || h.Get("Webhook-Id") != "msg_0a1b_team_7" || h.Get("Webhook-Timestamp") != "1767323045" || h.Get("Content-Type") != "application/json" || h.Get("User-Agent") != "edgeguard/1" {
		t.Errorf("%v", h)
	}
	run := func(secret, id, body string) string {
		c := exec.CommandContext(t.Context(), python, "-c", verify, secret, id, h.Get("Webhook-Timestamp"), h.Get("Webhook-Signature"))
		c.Stdin = strings.NewReader(body)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	id := h.Get("Webhook-Id")
	for want, of := range map[string][][3]string{
		"True":  {{secrets[0], id, body}, {secrets[1], id, body}},
		"False": {{"another secret of the same kind", id, body}, {secrets[0], id, body + " "}, {secrets[0], "msg_2", body}},
	} {
		for _, one := range of {
			if got := run(one[0], one[1], one[2]); got != want {
				t.Errorf("%v: %s, want %s", one, got, want)
			}
		}
	}
}

// TestSignatureOfTheDocs: the example of the check in docs/api.md is the one that was run.
func TestSignatureOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	begin, end := strings.Index(verify, "import"), strings.Index(verify, "secret, id")
	if !strings.Contains(string(page), strings.Replace(verify[begin:end], ", sys", "", 1)) {
		t.Error("docs/api.md has another check than this test")
	}
}

// TestFiles: what is wrong with a file is said by its name, and never with its text.
func TestFiles(t *testing.T) {
	for want, s := range map[string]SenderSettings{
		"no such file":                                {URLFile: "/nothing/there"},
		"does not have exactly one line":              {URLFile: write(t, "url", "https://a.example/SECRET1\nhttps://b.example/\n")},
		"the receiver's address is not encrypted":     {URLFile: write(t, "url", "http://a.example/SECRET2\n")},
		"the receiver's address is not an address":    {URLFile: write(t, "url", "SECRET3")},
		"a secret has fewer than 24 bytes":            {URL: "https://a.example", SecretFile: write(t, "s", "SECRET4")},
		"what follows whsec_ is not base64":           {URL: "https://a.example", SecretFile: write(t, "s", "whsec_SECRET5!")},
		"has 0 secrets":                               {URL: "https://a.example", SecretFile: write(t, "s", "\n")},
		"has 3 secrets":                               {URL: "https://a.example", SecretFile: write(t, "s", strings.Repeat("SECRET6 of twenty-four bytes\n", 3))},
		"is larger than 65536 bytes":                  {URL: "https://a.example", SecretFile: write(t, "s", strings.Repeat("SECRET7\n", 64<<10))},
		"has no certificate in PEM":                   {URL: "https://a.example", CAFile: write(t, "ca", "SECRET8")},
		"token does not have exactly one line of tex": {URL: "https://a.example", Headers: []Header{{Name: "A", File: write(t, "token", "")}}},
	} {
		if _, err := OpenSender(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A receiver that repeats a part of what it was sent: the token without the word before it,
// or one part of the address.
func TestSecretsOfAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		_, _ = fmt.Fprintf(w, "bot %s has no token %s and no key %s", strings.Split(r.URL.Path, "/")[1], token, r.URL.Query().Get("key"))
	}))
	t.Cleanup(server.Close)
	r, err := OpenSender(SenderSettings{URL: server.URL + "/bot123:SECRET/send?key=SEC%2FRET", Headers: []Header{{Name: "Authorization", File: write(t, "token", "Bearer T0SECRET\n")}}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	a := r.PostBody(t.Context(), time.Unix(1_767_323_045, 0), "x", nil)
	if want := "bot … has no token … and no key …"; a.Text != want || !strings.Contains(a.Error.Error(), want) {
		t.Errorf("%q, %v", a.Text, a.Error)
	}
}

// FuzzAnswer: whatever a receiver answers makes one line at most, in bounds.
func FuzzAnswer(f *testing.F) {
	f.Add(uint16(500), "text", "17", "https://a.example/")
	f.Add(uint16(301), "\x1b[31m\n", "Fri, 02 Jan 2026 03:04:35 GMT", "//\x00")
	s := &Sender{hidden: []string{"SECRET"}}
	f.Fuzz(func(t *testing.T, status uint16, text, after, location string) {
		r := &http.Response{StatusCode: int(status), Header: http.Header{"Retry-After": {after}, "Location": {location}}}
		a := s.judge(time.Unix(1_767_323_045, 0), r, s.show(text))
		if a.Error == nil {
			return
		}
		if line := a.Error.Error(); strings.ContainsAny(line, "\n\r\x1b\x00") || strings.Contains(line, "SECRET") && !strings.Contains(location, "SECRET") || len(line) > 800 || a.After < 0 || a.After > mostWait {
			t.Errorf("%d %q: %q, after %v", status, text, line, a.After)
		}
	})
}
