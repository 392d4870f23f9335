package keys_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/crowdsec/keys"
)

var now = time.Unix(1_800_000_000, 0)

// TestKeys: a key opens until it is removed, also after a restart, and the file has no
// secret.
func TestKeys(t *testing.T) {
	folder := t.TempDir()
	k, err := keys.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := k.Add("edge1", keys.Auto, now)
	if err != nil || len(secret) != 64 {
		t.Fatalf("%q, %v", secret, err)
	}
	other, _ := k.Add("edge2", keys.Yes, now)
	path := filepath.Join(folder, keys.FileName)
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), secret) {
		t.Fatalf("the file has the secret (%v):\n%s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again, err := keys.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*keys.Keys{k, again} {
		if found, ok := one.Find(secret); !ok || found.Name != "edge1" || found.Kernel != keys.Auto || !found.Made.Equal(now) {
			t.Errorf("%+v, %t", found, ok)
		}
		for _, wrong := range []string{"", "x", strings.ToUpper(secret) + "1", found(t, text)} {
			if _, ok := one.Find(wrong); ok {
				t.Errorf("%q opens", wrong)
			}
		}
	}
	if err := again.Remove("edge1"); err != nil {
		t.Fatal(err)
	}
	if _, ok := again.Find(secret); ok {
		t.Error("a removed key opens")
	}
	if _, ok := again.Find(other); !ok {
		t.Error("another key does not open")
	}
}

// found returns the first hash of a file.
func found(t *testing.T, text []byte) string {
	_, rest, ok := strings.Cut(string(text), `"sha256": "`)
	if !ok {
		t.Fatalf("no hash in\n%s", text)
	}
	return rest[:64]
}

func TestRefused(t *testing.T) {
	k, _ := keys.Open(t.TempDir())
	if _, err := k.Add("a", keys.No, now); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, kernel string
		want         error
	}{
		{"a", keys.No, keys.ErrKnown}, {"", keys.No, keys.ErrName}, {"-a", keys.No, keys.ErrName}, {"a b", keys.No, keys.ErrName},
		{"a\n", keys.No, keys.ErrName}, {strings.Repeat("a", 65), keys.No, keys.ErrName}, {"b", "maybe", keys.ErrKernel},
	} {
		if _, err := k.Add(c.name, c.kernel, now); !errors.Is(err, c.want) {
			t.Errorf("%q, %q: %v", c.name, c.kernel, err)
		}
	}
	if err := k.Remove("b"); !errors.Is(err, keys.ErrUnknown) {
		t.Error(err)
	}
	for i := range keys.Most {
		if _, err := k.Add(fmt.Sprint("n", i), keys.Auto, now); (err != nil) != (i == keys.Most-1) || err != nil && !errors.Is(err, keys.ErrFull) {
			t.Errorf("key %d: %v", i, err)
		}
	}
	none, _ := keys.Open("")
	if _, err := none.Add("a", keys.Auto, now); !errors.Is(err, keys.ErrNoState) {
		t.Error(err)
	}
}

// TestNotWritten: a key that is not on the disk does not open.
func TestNotWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	k, err := keys.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := k.Add("a", keys.Auto, now)
	if err == nil {
		t.Fatal("written into a folder that is not there")
	}
	if _, ok := k.Find(secret); ok || len(k.All()) != 0 {
		t.Error("it opens")
	}
}
