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
		out.Refuse("AggregateKeyType CONSTANT counts all clients together: edgeguard counts each address, and refuses no client for what others did")
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
		case "Header":
			name, ok := key.Field("Name").Text()
			if !ok {
				out.Refuse("CustomKeys.Header has no Name")
			}
			if strings.EqualFold(name, "host") {
				transformed(out, "CustomKeys.Header", key, "NONE", "LOWERCASE")
				with = append(with, "host")
				break
			}
			transformed(out, "CustomKeys.Header", key, "NONE")
			with = append(with, "header:"+name)
		default:
			out.Refuse("CustomKeys.%s cannot be part of a key here", names[0])
		}
	}
	if addresses > 1 {
		out.Refuse("CustomKeys has two addresses, and a key here has one")
	}
	if addresses == 0 {
		out.Refuse(migrate.NoAddress, "CustomKeys has no IP", "AWS WAF")
	}
	out.Spec.Key.With = with
	if len(with) > 0 {
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
