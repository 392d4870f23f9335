package watch

import "testing"

// fill takes all places that there are for a reader.
func (p *Places) fill(r StreamReader) (releases []func()) {
	for release := p.Take(r); release != nil; release = p.Take(r) {
		releases = append(releases, release)
	}
	return releases
}

// However many streams one kind of reader opens, the others have room.
func TestPlaces(t *testing.T) {
	var p Places
	guests := p.fill(StreamReader{Guest: true, Browser: true})
	if len(guests) != MostStreams/2 || p.Take(StreamReader{Guest: true}) != nil {
		t.Errorf("%d guests", len(guests))
	}
	browsers := p.fill(StreamReader{Browser: true})
	if len(guests)+len(browsers) != MostStreams-ForPrograms {
		t.Errorf("%d browsers beside %d guests", len(browsers), len(guests))
	}
	programs := p.fill(StreamReader{})
	if len(programs) != ForPrograms {
		t.Errorf("%d programs", len(programs))
	}
	for _, release := range append(append(guests, browsers...), programs...) {
		release()
	}
	if n := len(p.fill(StreamReader{})); n != MostStreams {
		t.Errorf("%d places of %d are free again", n, MostStreams)
	}
}
