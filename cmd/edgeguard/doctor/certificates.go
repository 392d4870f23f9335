package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"edgeguard/config"
	"edgeguard/internal/words"
)

// soon is how long before its end a certificate is doubted: who renews it by a program does
// so weeks before.
const soon = 7 * 24 * time.Hour

// certificates looks at the files of a listener, and at the times of what is in them.
func (x *examination) certificates(about string, f config.ListenerTLS) {
	for _, file := range []string{f.CertFile, f.KeyFile, f.ClientCAFile} {
		x.readable(about, file)
	}
	for _, file := range []string{f.CertFile, f.ClientCAFile} {
		x.valid(about, file, time.Now())
	}
}

// valid says that the first certificate of a file is over, or is soon. What cannot be read is
// said by others.
func (x *examination) valid(about, file string, now time.Time) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return
	}
	c, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		x.note(wrong, about, "%s: %v", file, err)
	case now.Before(c.NotBefore):
		x.note(wrong, about, "the certificate %s is not valid before %s: who checks it refuses the connection; look at this host's clock", file, words.Instant(c.NotBefore))
	case now.After(c.NotAfter):
		x.note(wrong, about, "the certificate %s has expired at %s: who checks it refuses the connection; renew it, edgeguard reads it without a reload", file, words.Instant(c.NotAfter))
	default:
		if left := c.NotAfter.Sub(now); left < soon {
			x.note(doubt, about, "the certificate %s expires in %s: renew it, edgeguard reads it without a reload", file, words.Length(left))
		}
	}
}
