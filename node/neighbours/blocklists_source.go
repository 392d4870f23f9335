package neighbours

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"

	"edgeguard/config"
	"edgeguard/feed"
)

// source is where a list comes from.
type source interface {
	// get returns the list, or reports that it is the one of the marks; a file has none,
	// and reports that it is the one that was returned last.
	get(ctx context.Context, had feed.Marks) (feed.Answer, error)
	// forget has the list returned again even if it is the same.
	forget()
	// hide returns an answer without the secrets of the source, and whether it had any.
	hide(text []byte) ([]byte, bool)
}

// sourceOf opens nothing.
func sourceOf(s config.BlocklistSource, version string) source {
	if s.File != "" {
		return &file{feed.File{Path: s.File}}
	}
	return &testServer{settings: feed.FetchSettings{URL: s.URL, CAFile: s.CAFile, HeaderFile: s.HeaderFile, Private: s.Private, Version: version}}
}

type testServer struct{ settings feed.FetchSettings }

func (s *testServer) get(ctx context.Context, had feed.Marks) (feed.Answer, error) {
	f, err := feed.NewFetcher(s.settings)
	if err != nil {
		return feed.Answer{}, err
	}
	return f.FetchList(ctx, had)
}

func (s *testServer) forget() {}

func (s *testServer) hide(text []byte) ([]byte, bool) { return s.settings.HideSecrets(text) }

type file struct{ feed.File }

func (f *file) get(context.Context, feed.Marks) (feed.Answer, error) { return f.Read() }
func (f *file) forget()                                              { f.Forget() }
func (f *file) hide(text []byte) ([]byte, bool)                      { return text, false }

// identity names where a list comes from, and shows nothing of a secret in a URL.
func identity(s config.BlocklistSource) string {
	sum := sha256.Sum256([]byte("url " + s.URL + "\nfile " + s.File))
	return hex.EncodeToString(sum[:12])
}

// place is where a list comes from, as people are told: a URL's path may have a secret.
func place(s config.BlocklistSource) string {
	if s.File != "" {
		return s.File
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "its server"
	}
	return u.Host
}
