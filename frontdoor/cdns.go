package frontdoor

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
)

// cdn is a CDN, and the ranges from which it asks an origin.
type cdn struct {
	name   string
	ranges []netip.Prefix
}

// cdns are CDNs with the ranges that they publish, as public copies had them on 28 November 2026:
// none was fetched from its maker. An address of a range that one adds later is taken for a
// client's; one that it gives away spares nobody where the other addresses of the source are not
// that CDN's.
//
//   - Cloudflare: https://www.cloudflare.com/ips/
//   - Fastly: https://api.fastly.com/public-ip-list
//   - CloudFront: CLOUDFRONT_ORIGIN_FACING of https://ip-ranges.amazonaws.com/ip-ranges.json, of 6 October 2026
//   - Akamai: https://techdocs.akamai.com/origin-ip-acl/docs/update-your-origin-server. These are of
//     sites with Origin IP ACL; of others it publishes none from which it asks.
var cdns = []cdn{
	{"Cloudflare", ranges(`
		103.21.244.0/22 103.22.200.0/22 103.31.4.0/22 104.16.0.0/13 104.24.0.0/14 108.162.192.0/18 131.0.72.0/22
		141.101.64.0/18 162.158.0.0/15 172.64.0.0/13 173.245.48.0/20 188.114.96.0/20 190.93.240.0/20 197.234.240.0/22
		198.41.128.0/17 2400:cb00::/32 2405:8100::/32 2405:b500::/32 2606:4700::/32 2803:f800::/32 2a06:98c0::/29
		2c0f:f248::/32`)},
	{"Fastly", ranges(`
		23.235.32.0/20 43.249.72.0/22 103.244.50.0/24 103.245.222.0/23 103.245.224.0/24 104.156.80.0/20
		140.248.64.0/18 140.248.128.0/17 146.75.0.0/17 151.101.0.0/16 157.52.64.0/18 167.82.0.0/17 167.82.128.0/20
		167.82.160.0/20 167.82.224.0/20 172.111.64.0/18 185.31.16.0/22 199.27.72.0/21 199.232.0.0/16 2a04:4e40::/32
		2a04:4e42::/32`)},
	{"CloudFront", ranges(`
		3.29.57.0/26 3.172.0.0/17 13.124.199.0/24 15.158.0.0/16 18.68.0.0/16 24.110.128.0/17 52.46.0.0/18
		52.82.128.0/23 52.82.134.0/23 54.182.128.0/20 54.182.144.0/21 54.182.154.0/23 54.182.156.0/22 54.182.160.0/21
		54.182.172.0/22 54.182.176.0/21 54.182.184.0/22 54.182.188.0/23 54.182.224.0/21 54.182.240.0/21
		54.182.248.0/22 54.239.134.0/23 54.239.170.0/23 54.239.204.0/22 54.239.208.0/21 64.252.64.0/18 64.252.128.0/18
		70.132.0.0/18 130.176.0.0/18 130.176.64.0/21 130.176.72.0/22 130.176.76.0/24 130.176.78.0/23 130.176.80.0/22
		130.176.86.0/23 130.176.88.0/21 130.176.96.0/19 130.176.128.0/21 130.176.136.0/23 130.176.140.0/22
		130.176.144.0/20 130.176.160.0/19 130.176.192.0/19 204.246.166.0/24 205.251.218.0/24 2406:da10:847f:a100::/56
		2406:da11:438:2300::/56 2406:da12:4b:c200::/56 2406:da12:8b2e:9c00::/56 2406:da14:17bd:2f00::/56
		2406:da14:80bb:ea00::/56 2406:da16:c01:c200::/56 2406:da18:9fa:1b00::/56 2406:da19:e19:4a00::/56
		2406:da1a:6df:6c00::/56 2406:da1b:e7c:ad00::/56 2406:da1c:787:2b00::/56 2406:da1c:8d8c:4600::/56
		2406:da1e:705:1600::/56 2406:da1f:396:9100::/56 2600:1f11:e79:a800::/56 2600:1f13:417:4d00::/56
		2600:1f16:1923:3000::/56 2600:1f17:4356:f100::/56 2600:1f18:7530:7200::/56 2600:1f1a:4568:b500::/56
		2600:1f1c:da:600::/56 2600:1f1e:a7:2300::/56 2600:9000:1000::/36 2600:9000:5200::/40 2600:9000:6000::/36
		2a05:d011:531:1800::/56 2a05:d012:581:b400::/56 2a05:d014:1362:b000::/56 2a05:d016:9ed:de00::/56
		2a05:d018:1a3a:2d00::/56 2a05:d019:80b:e300::/56 2a05:d01a:8a9:be00::/56 2a05:d01c:343:c300::/56
		2a05:d025:e59:fb00::/56`)},
	{"Akamai", ranges(`
		2.16.0.0/13 23.0.0.0/12 23.32.0.0/11 23.192.0.0/11 95.100.0.0/15 184.24.0.0/13 2405:9600::/32 2600:1400::/24
		2a02:26f0::/32`)},
}

func ranges(text string) (all []netip.Prefix) {
	for _, one := range strings.Fields(text) {
		all = append(all, netip.MustParsePrefix(one))
	}
	return all
}

// span is a run of addresses of one CDN, as their words: IPv4 addresses, or IPv6 /64s.
type span struct {
	first, last uint64
	cdn         uint8 // from 1
}

// spans are those of cdns by family, ascending and without overlap.
var spans = [2][]span{spansOf(false), spansOf(true)}

func spansOf(six bool) (all []span) {
	for i := range cdns {
		for _, p := range cdns[i].ranges {
			if p.Addr().Is6() == six {
				first, bits := word(p.Addr()), 32
				if six {
					bits = 64
				}
				all = append(all, span{first, first | (1<<(bits-p.Bits()) - 1), uint8(i + 1)})
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	return all
}

// word returns an IPv4 address, or the /64 of an IPv6 address.
func word(a netip.Addr) uint64 {
	if a.Is4() {
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:]))
	}
	b := a.As16()
	return binary.BigEndian.Uint64(b[:8])
}

// cdnOf returns which CDN an address is of, from 1; 0 for none.
func cdnOf(a netip.Addr) uint8 {
	all, w := spans[0], word(a)
	if a.Is6() {
		all = spans[1]
	}
	i, found := slices.BinarySearchFunc(all, w, func(s span, w uint64) int { return cmp.Compare(s.first, w) })
	switch {
	case found:
		return all[i].cdn
	case i > 0 && w <= all[i-1].last:
		return all[i-1].cdn
	}
	return 0
}
