package awswaf

import (
	"strings"

	"edgeguard/migrate"
)

// readKey reads what AWS counts together.
func (im *importer) readKey(out *migrate.Draft, s *migrate.JSONValue) {
	kind, ok := s.Field("AggregateKeyType").Text()
	switch {
	case !ok:
		out.Refuse("AggregateKeyType is missing")
	case kind == "IP":
		out.NoteDecision("AggregateKeyType IP: each address.")
	case kind == "FORWARDED_IP":
		forwarded(out, s)
	case kind == "CONSTANT":
		out.Spec.Key.Everybody = true
		out.NoteDecision("AggregateKeyType CONSTANT: all clients together, which is address: none.")
	case kind == "CUSTOM_KEYS":
		im.customKeys(out, s)
	default:
		out.Refuse("AggregateKeyType %q is not known to this import", kind)
	}
}

// forwarded reads where the address stands. A header is never trusted for what a client
// may write into it.
func forwarded(out *migrate.Draft, s *migrate.JSONValue) {
	c := s.Field("ForwardedIPConfig")
	header, ok := c.Field("HeaderName").Text()
	fallback, known := c.Field("FallbackBehavior").Text()
	if !ok || !known || fallback != "MATCH" && fallback != "NO_MATCH" {
		out.Refuse("ForwardedIPConfig has no HeaderName, or no FallbackBehavior of MATCH or NO_MATCH")
		return
	}
	out.NoteDecision("Each address that the header %s names. AWS WAF takes the first one, which a client may write himself; edgeguard takes the one that your proxy adds: set `trusted_proxies`.", header)
	if !strings.EqualFold(header, "X-Forwarded-For") {
		out.NoteDecision("WARNING: the header is not X-Forwarded-For: have your proxy or its log report the client's address.")
	}
	if fallback == "MATCH" {
		out.NoteDecision("FallbackBehavior MATCH: AWS WAF acts on any request without a valid address there; here it counts for the address that it came from.")
	} else {
		out.NoteDecision("FallbackBehavior NO_MATCH: AWS WAF does not count a request without a valid address there; here it counts for the address that it came from.")
	}
}

// unknown says of what AWS can count by, and edgeguard cannot, why.
var unknown = map[string]string{
	"ASN":            "whose network an address is in no source says",
	"JA3Fingerprint": "since no source reports fingerprints of TLS",
	"JA4Fingerprint": "since no source reports fingerprints of TLS",
	"LabelNamespace": "since the labels of other rules are not imported",
}

// named returns the name of a header, a cookie or a parameter.
func named(out *migrate.Draft, kind string, key *migrate.JSONValue) string {
	name, ok := key.Field("Name").Text()
	if !ok {
		out.Refuse("CustomKeys.%s has no Name", kind)
	}
	return name
}

// customKeys reads a list of what keys are made of.
func (im *importer) customKeys(out *migrate.Draft, s *migrate.JSONValue) {
	addresses := 0
	var with []string
	for _, item := range s.Field("CustomKeys").Items() {
		names := item.Names()
		if len(names) != 1 {
			out.Refuse("CustomKeys has an entry that is not one key")
			continue
		}
		key := item.Field(names[0])
		switch names[0] {
		case "IP":
			addresses++
		case "ForwardedIP":
			addresses++
			forwarded(out, s)
		case "HTTPMethod":
			with = append(with, "method")
		case "UriPath":
			transformed(out, "CustomKeys.UriPath", key, "NONE", "URL_DECODE", "NORMALIZE_PATH")
			with = append(with, "path")
		case "QueryString":
			transformed(out, "CustomKeys.QueryString", key, "NONE")
			with = append(with, "query")
			out.NoteDecision("A request without a query counts here, as one with an empty query.")
		case "QueryArgument":
			transformed(out, "CustomKeys.QueryArgument", key, "NONE", "URL_DECODE")
			with = append(with, "query:"+named(out, names[0], key))
			out.NoteDecision("A parameter is compared with its escapes decoded once, and its name letter for letter.")
		case "Cookie":
			transformed(out, "CustomKeys.Cookie", key, "NONE")
			with = append(with, "cookie:"+named(out, names[0], key))
		case "Header":
			name := named(out, names[0], key)
			if strings.EqualFold(name, "host") {
				transformed(out, "CustomKeys.Header", key, "NONE", "LOWERCASE")
				with = append(with, "host")
				break
			}
			transformed(out, "CustomKeys.Header", key, "NONE")
			with = append(with, "header:"+name)
		default:
			why, known := unknown[names[0]]
			if !known {
				why = "which is not known to this import"
			}
			out.Refuse("CustomKeys.%s cannot be part of a key here, %s", names[0], why)
		}
	}
	if addresses > 1 {
		out.Refuse("CustomKeys has two addresses, and a key here has one")
	}
	out.Spec.Key.With, out.Spec.Key.Everybody = with, addresses == 0
	switch {
	case addresses == 0:
		out.NoteDecision("CustomKeys has no IP: all clients that have the same %s count together, which is address: none. A request without one of these is not counted, as with AWS WAF.", strings.Join(with, ", "))
	case len(with) > 0:
		out.NoteDecision("CustomKeys: each address together with %s. A request without one of these is not counted, as with AWS WAF.", strings.Join(with, ", "))
	}
}

// transformed refuses transformations except the given ones, and returns those that it
// found, in their order.
func transformed(out *migrate.Draft, place string, v *migrate.JSONValue, allowed ...string) []string {
	list := v.Field("TextTransformations").Items()
	byPriority := map[uint32]string{}
	var order []uint32
	for _, item := range list {
		kind, ok := item.Field("Type").Text()
		priority, given := item.Field("Priority").Whole(1<<31 - 1)
		if _, twice := byPriority[priority]; !ok || !given || twice {
			out.Refuse("%s has a text transformation without a type, or without a priority of its own", place)
			return nil
		}
		byPriority[priority] = kind
		order = append(order, priority)
	}
	return inOrder(out, place, byPriority, order, allowed)
}
