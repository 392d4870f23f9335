package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
)

func TestRefusesUnknownArms(t *testing.T) {
	if err := run(t.Context(), []string{"-arms", "plain,none"}, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "floor") {
		t.Errorf("run = %v", err)
	}
}

func TestConfigurationsAreGood(t *testing.T) {
	for _, a := range allArms {
		if a.haproxy {
			continue
		}
		conf := nginxConf(a, "/srv/site", "127.0.0.1:8080", "127.0.0.1:9180")
		if asks := strings.Contains(conf, "auth_request "); asks != a.asks() {
			t.Errorf("%s: asks %v", a.name, asks)
		}
		if caches := strings.Contains(conf, "proxy_cache "); caches != a.cached {
			t.Errorf("%s: caches %v", a.name, caches)
		}
		if logs := strings.Contains(conf, "access_log /srv/site/access.log combined buffer=64k flush=50ms;"); logs != a.log {
			t.Errorf("%s: logs %v", a.name, logs)
		}
		if a.node && !a.log {
			t.Errorf("%s: nothing to follow", a.name)
		}
	}
}

// TestHAProxyConfigurations: each is one that HAProxy accepts, and only one asks.
func TestHAProxyConfigurations(t *testing.T) {
	for _, a := range allArms {
		if !a.haproxy {
			continue
		}
		conf, spoe := haproxyConf(a, t.TempDir(), "127.0.0.1:8080", "/srv/spoe.sock")
		if asks := strings.Contains(conf, "send-spoe-group"); asks != a.spoe || (spoe != "") != a.spoe || !strings.Contains(conf, "set-src") {
			t.Errorf("%s: asks %v", a.name, asks)
		}
	}
}

// TestNodeConfiguration: what the log counts is not counted again, and the
// crossing request is the one that a refusal is waited for.
func TestNodeConfiguration(t *testing.T) {
	for _, a := range []arm{cachedArm, allArms[slices.Index(armNames(), "log+edgeguard")]} {
		c, err := config.Parse(a.name, []byte(nodeConf(a, "/srv/site", "127.0.0.1:9180")))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Warnings) > 0 {
			t.Errorf("%s: %v", a.name, c.Warnings)
		}
		if answers := len(c.Listen.Auth) == 1; answers != a.asks() {
			t.Errorf("%s: answers %v", a.name, answers)
		}
		if a.asks() && c.Listen.Auth[0].Emit != 0 {
			t.Errorf("%s: counts twice", a.name)
		}
		if log := c.Sensors.AccessLog; len(log) != 1 || log[0].Emit&edgeguard.KindRequest == 0 {
			t.Errorf("%s: follows %v", a.name, log)
		}
		if login := c.Rules.Rules[1]; login.Name != "login" || login.Limit != toCross-1 {
			t.Errorf("%s: rule %s, limit %d", a.name, login.Name, login.Limit)
		}
	}
}

func TestCPUTime(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := cpuTime(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	if _, err := cpuTime(-1); err == nil {
		t.Error("the time of no process")
	}
}

func TestClientsDiffer(t *testing.T) {
	for n, want := range map[int]string{0: "198.18.0.0", 258: "198.18.1.2", flooder: "198.19.255.255", firstFresh: "10.2.0.0", firstFresh + 257: "10.2.1.1"} {
		if got := clientAddress(n).String(); got != want {
			t.Errorf("client %d: %s, want %s", n, got, want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var d []time.Duration
	for i := range 101 {
		d = append(d, time.Duration(100-i)*time.Millisecond)
	}
	if got := quantiles(d); got != "50ms, 99ms" {
		t.Errorf("quantiles: %s", got)
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median of three: %v", got)
	}
	if got := median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("median of four: %v", got)
	}
}
