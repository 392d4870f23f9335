package checks

import (
	"fmt"
	"strings"
	"time"

	"edgeguard/internal/words"
	"edgeguard/logline/scan"
)

// anotherZone says that all lines of a log are off by the same whole quarters of an hour, and of
// which zone they would be lines of now.
func anotherZone(now time.Time, off scan.Off, host *time.Location) string {
	by, way, of := time.Duration(off.Seconds)*time.Second, "ahead of", "they count as of now"
	if by < 0 {
		by, way, of = -by, "behind", "they are too old to be counted"
	}
	_, offset := now.In(host).Zone()
	zone := time.FixedZone("", offset+int(off.Seconds))
	fits := `"` + now.In(zone).Format("-07:00") + `"`
	if names := zonesAt(now, offset+int(off.Seconds)); len(names) > 0 {
		fits = strings.Join(names, " or ") + ", or " + fits
	}
	return fmt.Sprintf("the times of its last %s name no zone and are %s %s now, so that %s: if its program writes the time of another zone, set `zone:` of this log, such as %s",
		words.Plural(off.Lines, "line", "lines"), words.Length(by), way, of, fits)
}

// zonesAt returns the zones with many hosts that have an offset from UTC, in seconds, at now.
func zonesAt(now time.Time, offset int) (names []string) {
	for _, name := range []string{
		"UTC", "Europe/London", "Europe/Berlin", "Europe/Athens", "Europe/Moscow", "Asia/Dubai", "Asia/Karachi", "Asia/Kolkata", "Asia/Dhaka", "Asia/Bangkok",
		"Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland", "America/Sao_Paulo", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			continue
		}
		if _, own := now.In(zone).Zone(); own == offset {
			names = append(names, name)
		}
	}
	return names
}
