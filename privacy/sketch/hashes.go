package sketch

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Hashes are keyed hashes. Their text is the base64 of 8 bytes each, big-endian.
type Hashes []uint64

// MarshalText implements encoding.TextMarshaler.
func (h Hashes) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(h))
	for _, x := range h {
		raw = binary.BigEndian.AppendUint64(raw, x)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hashes) UnmarshalText(text []byte) error {
	if len(text) > 12*maxSize {
		return errors.New("sketch: a list is too long")
	}
	raw, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return errors.New("sketch: hashes are not the base64 of 8 bytes each")
	}
	*h = make(Hashes, len(raw)/8)
	for i := range *h {
		(*h)[i] = binary.BigEndian.Uint64(raw[8*i:])
	}
	return nil
}
