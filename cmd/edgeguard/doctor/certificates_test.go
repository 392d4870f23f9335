package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A certificate is told of that has expired, will soon, or is not valid yet, and no other.
func TestCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	began, ends := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: began, NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cert.pem")
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	told := func(now time.Time) []finding {
		x := new(examination)
		x.valid("crowdsec.lapi x", file, now)
		return x.findings
	}
	for _, c := range []struct {
		now   time.Time
		level severity
		text  string
	}{
		{began.Add(-time.Second), wrong, "is not valid before 2026-01-01 00:00:00Z"},
		{ends.Add(-time.Hour), doubt, "expires in 1 h"},
		{ends.Add(time.Second), wrong, "has expired at 2026-04-01 00:00:00Z"},
	} {
		if got := told(c.now); len(got) != 1 || got[0].Severity != c.level || !strings.Contains(got[0].Text, c.text) {
			t.Errorf("at %v: %+v, want %q", c.now, got, c.text)
		}
	}
	if got := told(began.Add(time.Hour)); len(got) != 0 {
		t.Errorf("a good one: %+v", got)
	}
	write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))
	if got := told(began); len(got) != 1 || got[0].Severity != wrong {
		t.Errorf("half a one: %+v", got)
	}
	for _, other := range []string{"", "no PEM"} {
		if write([]byte(other)); len(told(began)) != 0 {
			t.Errorf("%q is said to be a certificate", other)
		}
	}
}
