package method

import (
	"encoding/json"
	"fmt"
)

// methodFile is a method in a file: its name, and its settings as JSON.
type methodFile struct {
	Method   string          `json:"method"`
	Settings json.RawMessage `json:"settings"`
}

// Marshal writes the name and settings of a method; null for none.
func Marshal(m Method) ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the settings of %s: %w", m.Name(), err)
	}
	return json.Marshal(methodFile{Method: m.Name(), Settings: raw})
}

// Unmarshal reads what [Marshal] wrote of a method of a kind, and checks it.
func Unmarshal[M Method](data []byte, of Kind) (M, error) {
	var none M
	if string(data) == "null" {
		return none, nil
	}
	var in methodFile
	if err := json.Unmarshal(data, &in); err != nil {
		return none, fmt.Errorf("the settings of a method: %w", err)
	}
	m, err := New[M](in.Method, of)
	if err != nil {
		return none, err
	}
	if err := json.Unmarshal(in.Settings, m); err != nil {
		return none, fmt.Errorf("the settings of %s: %w", in.Method, err)
	}
	return m, m.Check()
}
