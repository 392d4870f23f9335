package formats

// This file reads Squid's native access.log.
