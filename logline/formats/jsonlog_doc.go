package formats

// This file reads logs of one JSON object a line, by the names that Caddy,
// Traefik, Envoy, Cloudflare's Logpush, AWS WAF and the usual nginx formats give
// their fields.
