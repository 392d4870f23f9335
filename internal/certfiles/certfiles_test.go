package certfiles

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// pair writes a certificate and its key, and returns their paths.
func pair(t *testing.T) Files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := Files{Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{f.Certificate: {Type: "CERTIFICATE", Bytes: certificate}, f.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// yielding is a key that lets others run while it signs.
type yielding struct {
	mu           sync.Mutex // guards what is below
	within, most int
}

func (y *yielding) add(n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.within += n
	y.most = max(y.most, y.within)
}

func (y *yielding) Public() crypto.PublicKey { return nil }

func (y *yielding) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	y.add(1)
	for range 100 {
		runtime.Gosched()
	}
	y.add(-1)
	return nil, nil
}

// The key of each handshake signs through the process's gate, and few do so together.
func TestSignaturesPassTheGate(t *testing.T) {
	config, err := pair(t).Config()
	if err != nil {
		t.Fatal(err)
	}
	one, err := config.GetConfigForClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, gated := one.Certificates[0].PrivateKey.(gatedKey)
	if !gated {
		t.Fatal("a handshake's key does not go through the gate")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var inner yielding
	key.Signer = &inner
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = key.Sign(nil, nil, nil) })
	}
	wg.Wait()
	if inner.most > 10 {
		t.Errorf("%d signatures were made together", inner.most)
	}
}
