package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

func TestRefusesUnknownArms(t *testing.T) {
	if err := run(t.Context(), []string{"-arms", "plain,none"}, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "floor") {
		t.Errorf("run = %v", err)
	}
}

func TestConfigurationsAreGood(t *testing.T) {
	for _, a := range allArms {
		conf := nginxConf(a, "/srv/site", "127.0.0.1:8080", "127.0.0.1:9180")
		if asks := strings.Contains(conf, "auth_request "); asks != (a.answerer != "") {
			t.Errorf("%s: asks %v", a.name, asks)
		}
		if caches := strings.Contains(conf, "proxy_cache "); caches != a.cached {
			t.Errorf("%s: caches %v", a.name, caches)
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

func TestMedian(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median of three: %v", got)
	}
	if got := median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("median of four: %v", got)
	}
}
