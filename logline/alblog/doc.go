// Package alblog reads the access logs of AWS Application Load Balancers.
package alblog
