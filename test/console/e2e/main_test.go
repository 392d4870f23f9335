package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"edgeguard/internal/program"
)

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 2 * time.Minute

// full makes the tests look at every page at every width, and longer.
var full = os.Getenv("CONSOLE_FULL") != ""

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// browser is the one that all tabs are in; each tab has cookies of its own.
var browser context.Context

func run(m *testing.M) (int, error) {
	if os.Getenv(program.Built) == "" { // else a test has started itself again
		binary, err := build()
		if err != nil {
			return 0, err
		}
		defer func() { _ = os.RemoveAll(filepath.Dir(binary)) }()
		if err := os.Setenv(program.Built, binary); err != nil {
			return 0, err
		}
	}
	closed, err := openBrowser()
	if err != nil && !full {
		fmt.Printf("SKIPPED: no page was opened in a browser: %v\n", err)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closed()
	return m.Run(), nil
}

// openBrowser starts Chromium, until the returned function is called.
func openBrowser() (func(), error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, errors.New("chromium is not installed: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"),
		// Of the ports that package program returns a browser refuses this one otherwise.
		chromedp.Flag("explicitly-allowed-ports", "10080"))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	of, closed := chromedp.NewContext(allocator)
	if err := chromedp.Run(of); err != nil {
		closed()
		end()
		return nil, fmt.Errorf("chromium does not start: %w", err)
	}
	browser = of
	return func() { closed(); end() }, nil
}

// build builds the command with the product's own versions of its modules, which
// are not always those of this module.
func build() (string, error) {
	folder, err := os.MkdirTemp("", "edgeguard")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "edgeguard")
	c := exec.Command("go", "build", "-C", "../../..", "-o", binary, "./cmd/edgeguard")
	if out, err := c.CombinedOutput(); err != nil {
		_ = os.RemoveAll(folder)
		return "", fmt.Errorf("%v: %w\n%s", c.Args, err, out)
	}
	return binary, nil
}
