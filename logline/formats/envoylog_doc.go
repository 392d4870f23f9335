package formats

// This file reads Envoy's default text format.
