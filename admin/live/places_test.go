package live

import "testing"

// fill takes all places that there are for a reader.
func (p *Places) fill(r Reader) (releases []func()) {
	for release := p.Take(r); release != nil; release = p.Take(r) {
		releases = append(releases, release)
	}
	return releases
}

// However many streams one kind of reader opens, the others have room.
func TestPlaces(t *testing.T) {
	var p Places
	guests := p.fill(Reader{Guest: true, Browser: true})
	if len(guests) != Most/2 || p.Take(Reader{Guest: true}) != nil {
		t.Errorf("%d guests", len(guests))
	}
	browsers := p.fill(Reader{Browser: true})
	if len(guests)+len(browsers) != Most-ForPrograms {
		t.Errorf("%d browsers beside %d guests", len(browsers), len(guests))
	}
	programs := p.fill(Reader{})
	if len(programs) != ForPrograms {
		t.Errorf("%d programs", len(programs))
	}
	for _, release := range append(append(guests, browsers...), programs...) {
		release()
	}
	if n := len(p.fill(Reader{})); n != Most {
		t.Errorf("%d places of %d are free again", n, Most)
	}
}
