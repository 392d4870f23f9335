package feed

import "time"

const (
	// firstRetry is the pause after the first failure; each further one is twice as long.
	firstRetry = time.Minute
	// longestPause bounds what a server may ask for.
	longestPause = 24 * time.Hour
	// jitter is the part of a pause by which it is made longer at most, so that the nodes
	// of a fleet do not ask together, and no node asks on the hour for long.
	jitter = 0.1
)

// Pause returns how long to wait after so many failures one after another before the
// source is asked again, which is usually each every. asked is how long the server wants
// to be left alone, 0 if it did not say; random is from 0 to 1.
func Pause(every time.Duration, failures int, asked time.Duration, random float64) time.Duration {
	pause := every
	if failures > 0 {
		pause = min(every, firstRetry<<min(failures-1, 20))
	}
	pause = max(pause, min(asked, longestPause))
	return pause + time.Duration(float64(pause)*jitter*random)
}
