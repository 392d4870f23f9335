package scan

import "time"

// civil is a date and time of day as a log writes it, not yet an instant.
type civil struct {
	year, month, day     int
	hour, minute, second int
	offset               int // seconds east of Greenwich
	zoned                bool
}

var monthDays = [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func (d civil) valid() bool {
	if d.month < 1 || d.month > 12 || d.day < 1 || d.day > monthDays[d.month] ||
		d.hour > 23 || d.minute > 59 || d.second > 60 {
		return false
	}
	leap := d.year%4 == 0 && (d.year%100 != 0 || d.year%400 == 0)
	return d.day != 29 || d.month != 2 || leap
}

// unix returns the instant in unix seconds; zone is for those that name none.
func (d civil) unix(zone *time.Location) int64 {
	if !d.zoned && zone != time.UTC {
		return time.Date(d.year, time.Month(d.month), d.day, d.hour, d.minute, d.second, 0, zone).Unix()
	}
	return daysSince1970(d.year, d.month, d.day)*86400 + int64(d.hour*3600+d.minute*60+d.second-d.offset)
}

// daysSince1970 counts days in the Gregorian calendar: years begin in March,
// so that the leap day is the last. (Hinnant, days_from_civil,
// https://howardhinnant.github.io/date_algorithms.html; good from year 0,
// whose January is of the March year -1: hence the shift by one era.)
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := (year+400)/400 - 1
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return int64(era*146097 + dayOfEra - 719468)
}

// monthOf reads Jan … Dec.
func monthOf(b []byte) (int, bool) {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for m := range 12 {
		if n := names[3*m : 3*m+3]; b[0] == n[0] && b[1] == n[1] && b[2] == n[2] {
			return m + 1, true
		}
	}
	return 0, false
}

func digits2(b []byte) (int, bool) {
	_ = b[1]
	return int(b[0]-'0')*10 + int(b[1]-'0'), IsDigit(b[0]) && IsDigit(b[1])
}

func digits4(b []byte) (int, bool) {
	hi, ok1 := digits2(b)
	lo, ok2 := digits2(b[2:])
	return hi*100 + lo, ok1 && ok2
}
