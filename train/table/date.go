package table

import (
	"math"
	"time"
)

// layouts are the known date formats. The first one that all values of a column match is used: 03/04/2021 is read month first, unless
// a first number in the column is above 12.
var layouts = []string{
	"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006/01/02", "2006/01/02 15:04:05", "2006/01/02 15:04", "2006.01.02",
	"01/02/2006", "02/01/2006", "1/2/2006", "2/1/2006", "01/02/2006 15:04", "02/01/2006 15:04", "1/2/2006 15:04", "2/1/2006 15:04",
	"01/02/2006 15:04:05", "02/01/2006 15:04:05", "1/2/06", "2/1/06",
	"02.01.2006", "2.1.2006", "02.01.2006 15:04", "02.01.2006 15:04:05", "02-01-2006", "02-Jan-2006", "2-Jan-06",
	"2 Jan 2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006", "Jan 2006", "2006-01",
	time.RFC1123, time.RFC1123Z, time.ANSIC,
}

// day parses a date. It returns days since 1970-01-01 UTC, with the time of day as a fraction.
func day(s, layout string) (float64, bool) {
	t, err := time.Parse(layout, s)
	if err != nil {
		return math.NaN(), false
	}
	return float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9, true
}
