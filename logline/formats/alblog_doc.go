package formats

// This file reads the access logs of AWS Application Load Balancers.
