package words

import (
	"testing"
	"time"
)

func TestLength(t *testing.T) {
	for text, want := range map[string]string{
		"0s": "0 s", "999ms": "0 s", "1s": "1 s", "59s": "59 s", "60s": "1 min", "6m49s": "6 min 49 s", "1h": "1 h", "1h0m5s": "1 h",
		"1h59m59s": "1 h 59 min", "24h": "1 d", "28h30m": "1 d 4 h", "24h59m": "1 d", "8760h": "365 d",
	} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Length(d); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Percent(1, 3) + " " + Percent(1, 1000) + " " + Percent(1, 1_000_000) + " " + Percent(0, 0); got != "33.3 % 0.10 % < 0.01 % 0 %" {
		t.Error(got)
	}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string][2]string{
		"0s": {"0s", "0s"}, "-5s": {"-5s", "0s"}, "90s": {"1m30s", "1m30s"}, "10m": {"10m", "10m"}, "59m59.6s": {"59m59.6s", "1h"},
		"1h": {"1h", "1h"}, "1h0m29s": {"1h0m29s", "1h"}, "24h": {"24h", "24h"}, "47h45m": {"47h45m", "2d"}, "48h": {"2d", "2d"},
		"719h59m17s": {"29d23h59m17s", "30d"}, "720h": {"30d", "30d"}, "60h": {"2d12h", "2d12h"}, "72h0m10s": {"3d10s", "3d"}, "8760h": {"365d", "365d"},
	} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{Span(d), Left(d)}; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
