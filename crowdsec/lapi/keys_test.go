package lapi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/crowdsec/lapi"
)

var now = time.Unix(1_800_000_000, 0)

// TestKeys: a key opens until it is removed, also after a restart, and the file has no
// secret.
func TestKeys(t *testing.T) {
	folder := t.TempDir()
	k, err := lapi.OpenKeys(folder)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := k.Add("edge1", lapi.Auto, now)
	if err != nil || len(secret) != 64 {
		t.Fatalf("%q, %v", secret, err)
	}
	other, _ := k.Add("edge2", lapi.Yes, now)
	path := filepath.Join(folder, lapi.KeysFile)
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), secret) {
		t.Fatalf("the file has the secret (%v):\n%s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again, err := lapi.OpenKeys(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*lapi.Keys{k, again} {
		if found, ok := one.FindShown(secret); !ok || found.Name != "edge1" || found.Kernel != lapi.Auto || !found.Made.Equal(now) {
			t.Errorf("%+v, %t", found, ok)
		}
		for _, wrong := range []string{"", "x", strings.ToUpper(secret) + "1", found(t, text)} {
			if _, ok := one.FindShown(wrong); ok {
				t.Errorf("%q opens", wrong)
			}
		}
	}
	if err := again.Remove("edge1"); err != nil {
		t.Fatal(err)
	}
	if _, ok := again.FindShown(secret); ok {
		t.Error("a removed key opens")
	}
	if _, ok := again.FindShown(other); !ok {
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

func TestRefusedKeys(t *testing.T) {
	k, _ := lapi.OpenKeys(t.TempDir())
	if _, err := k.Add("a", lapi.No, now); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, kernel string
		want         error
	}{
		{"a", lapi.No, lapi.ErrKnown}, {"", lapi.No, lapi.ErrKeyName}, {"-a", lapi.No, lapi.ErrKeyName}, {"a b", lapi.No, lapi.ErrKeyName},
		{"a\n", lapi.No, lapi.ErrKeyName}, {strings.Repeat("a", 65), lapi.No, lapi.ErrKeyName}, {"b", "maybe", lapi.ErrKernel},
	} {
		if _, err := k.Add(c.name, c.kernel, now); !errors.Is(err, c.want) {
			t.Errorf("%q, %q: %v", c.name, c.kernel, err)
		}
	}
	if err := k.Remove("b"); !errors.Is(err, lapi.ErrUnknown) {
		t.Error(err)
	}
	for i := range lapi.MostKeys {
		if _, err := k.Add(fmt.Sprint("n", i), lapi.Auto, now); (err != nil) != (i == lapi.MostKeys-1) || err != nil && !errors.Is(err, lapi.ErrFull) {
			t.Errorf("key %d: %v", i, err)
		}
	}
	none, _ := lapi.OpenKeys("")
	if _, err := none.Add("a", lapi.Auto, now); !errors.Is(err, lapi.ErrNoState) {
		t.Error(err)
	}
}

// TestNotWritten: a key that is not on the disk does not open.
func TestNotWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	k, err := lapi.OpenKeys(folder)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := k.Add("a", lapi.Auto, now)
	if err == nil {
		t.Fatal("written into a folder that is not there")
	}
	if _, ok := k.FindShown(secret); ok || len(k.All()) != 0 {
		t.Error("it opens")
	}
}
