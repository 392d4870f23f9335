package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// Who has just built edgeguard points it at a log, opens the address that it prints,
// and sees the first offender, without a login, a config or an edited file. With the
// link of a command without arguments the first click unblocks.
func TestFirstLook(t *testing.T) {
	if !program.Alone(t) {
		return
	}
	file := filepath.Join(t.TempDir(), "access.log")
	log, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	begun := time.Now()
	serve := exec.Command(os.Getenv(program.Built), "serve", "--log", file)
	run, err := os.MkdirTemp("", "run") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	serve.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+run)
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if _, rest, found := strings.Cut(lines.Text(), "console at "); found {
			address, _, _ = strings.Cut(rest, ": ")
		}
	}
	b := newTab(t)
	b.wait("the console listens", func() bool { c, err := asker.Get(address); return err == nil && c.Body.Close() == nil })
	b.open(address)
	b.until("it says how to begin", `document.body.innerText.includes("Nothing is counted yet")`)
	b.mark()
	b.until("it is live", isLive)
	b.copied()
	for range 1901 {
		if _, err := fmt.Fprintf(log, "%s - - [%s] \"GET /x HTTP/1.1\" 200 612 \"-\" \"curl/8.0\"\n", offender, time.Now().Format("02/Jan/2006:15:04:05 -0700")); err != nil {
			t.Fatal(err)
		}
	}
	written := time.Now()
	b.until("the line has a ✓", `document.querySelector(".sentence").innerText.includes("✓")`)
	if !eval[bool](b, `window.marked === true && document.querySelectorAll("pre.command + button").length === 3`) {
		t.Error("the page was loaded again, or has lost its buttons")
	}
	b.wait("the offender is on the page", func() bool {
		b.open(address + "/blocked")
		return eval[bool](b, `[...document.querySelectorAll("table.blocks a")].some(a => a.textContent === "`+offender+`")`)
	})
	t.Logf("the offender was on the page %.2f s after its 1,901st line, and %.2f s after the node was started; at most 10 s are right", time.Since(written).Seconds(), time.Since(begun).Seconds())

	login := exec.Command(serve.Path, "console")
	login.Env = serve.Env
	answer, err := login.CombinedOutput()
	link, _, _ := strings.Cut(string(answer), "\n")
	if err != nil || !strings.HasPrefix(link, address) {
		t.Fatalf("edgeguard console: %v\n%s", err, answer)
	}
	b.open(link)
	b.open(address + "/blocked")
	b.click(`main a[href^="/unblock"]`)
	b.until("it asks", `location.pathname === "/unblock" && document.querySelector("form.act") !== null`)
	b.typed("input[name=reason]", "me")
	b.click("form.act button.go")
	b.until("it is done", `document.body.innerText.includes("`+offender+` is unblocked on this node.")`)
	b.open(address + "/blocked")
	b.until("nobody is blocked again", `document.body.innerText.includes("Nobody is blocked")`)
}

// copied presses the button beside the first command. What the browser's clipboard
// receives is kept in the page, because other programs have that clipboard too.
func (b *tab) copied() {
	b.t.Helper()
	eval[bool](b, `navigator.clipboard.writeText = async text => { window.copied = text; }, true`)
	b.click("pre.command + button")
	b.until("it says so", `document.querySelector("pre.command + button").textContent === "Copied" && window.copied === document.querySelector("pre.command").textContent`)
}
