// Package w3clog reads logs in the W3C's extended format, as IIS and Amazon
// CloudFront write them: a line "#Fields:" names the columns of the rows after it.
package w3clog
