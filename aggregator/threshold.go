package aggregator

const thresholdMessage = "edgeguard fleet threshold 1"

// Threshold returns a rule's threshold record with its MAC before it, as Redis stores
// it; "" for nil.
func (k *SigningKeys) Threshold(namespace, rule, record string) string {
	if k == nil || ambiguous(namespace, rule) {
		return ""
	}
	return k.all[0].mac(thresholdMessage, namespace, rule, record) + record
}

// OpenThreshold returns the record that [SigningKeys.Threshold] was given, and true if the MAC
// is by one of the keys.
func (k *SigningKeys) OpenThreshold(namespace, rule, value string) (record string, signed bool) {
	if len(value) < MACSize || !k.isMACOf(value[:MACSize], thresholdMessage, namespace, rule, value[MACSize:]) {
		return "", false
	}
	return value[MACSize:], true
}
