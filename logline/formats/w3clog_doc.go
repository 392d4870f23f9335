package formats

// This file reads logs in the W3C's extended format, as IIS and Amazon
// CloudFront write them: a line "#Fields:" names the columns of the rows after it.
