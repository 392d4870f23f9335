package scan

// JSONObject reads the object at the start of b and returns its length, -1 if it is none.
// Member is called with each key, as it is written, and all from its value on, of which it
// returns the length or -1.
func JSONObject(b []byte, member func(key, rest []byte) int) int {
	i := JSONBlank(b, 0)
	if i == len(b) || b[i] != '{' {
		return -1
	}
	if i = JSONBlank(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for i < len(b) && b[i] == '"' {
		end := QuoteEnd(b, i+1)
		if end < 0 {
			return -1
		}
		key := b[i+1 : end]
		if i = JSONBlank(b, end+1); i == len(b) || b[i] != ':' {
			return -1
		}
		i = JSONBlank(b, i+1)
		n := member(key, b[i:])
		if n < 0 {
			return -1
		}
		if i = JSONBlank(b, i+n); i == len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		if i = JSONBlank(b, i+1); i < len(b) && b[i] == '}' {
			return i + 1 // a template that ends in a comma
		}
	}
	return -1
}

// JSONValue returns the length of the JSON value at the start of b, -1 if it has
// no end. Nesting needs no stack: only its depth counts.
func JSONValue(b []byte) int {
	if len(b) > 0 && b[0] != '"' && b[0] != '{' && b[0] != '[' {
		return bareValue(b)
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := QuoteEnd(b, i+1)
			if end < 0 {
				return -1
			}
			if i = end; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// bareValue returns the length of a value without quotes: a number, a word, or what a
// server writes where its template has no quotes, which may be nothing, a dash, or a list
// (nginx's $upstream_response_time: "", "0.1, 0.2 : 0.3"). Only a comma before the next key
// ends it, or the object's end.
func bareValue(b []byte) int {
	n := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case ' ', '\t':
			continue
		case '}', ']':
			if n > 0 && b[n-1] == ',' {
				n-- // the object's last
			}
			return n
		case '"':
			if i = QuoteEnd(b, i+1); i < 0 {
				return -1
			}
		case ',':
			if next := JSONBlank(b, i+1); next < len(b) && b[next] == '"' {
				return n
			}
		}
		n = i + 1
	}
	return -1
}

// JSONBlank returns the index of the first byte from i that is not white space.
func JSONBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}
