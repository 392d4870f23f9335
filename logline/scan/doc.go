// Package scan reads the forms in which servers write values into their logs:
// addresses, times, escaped text, the prefix of a syslog daemon. Each function
// reads from the start of a slice and returns how much it took. None allocates,
// and none knows of a format or an event.
package scan
