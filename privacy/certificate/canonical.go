package certificate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// encode writes v in the one form that is signed and accepted: JSON without
// white space, fields in the order of their declaration.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode reads data into v and accepts it only if encode gives back the same
// bytes. That alone rejects what encoding/json lets pass: duplicate keys, keys
// in another case, invalid UTF-8, null for a value, trailing data.
func decode(data []byte, v any) error {
	if err := bounded.JSON(data, bounded.Large); err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("it is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("it does not have the expected fields: %w", err)
	}
	again, err := encode(v)
	if err != nil {
		return err
	}
	if at := firstDifference(data, again); at >= 0 {
		return fmt.Errorf("it is not in canonical form from byte %d on (a duplicate or misspelt field, white space, trailing data?)", at)
	}
	return nil
}

// firstDifference returns where a and b part, or -1 when they are equal.
func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}
