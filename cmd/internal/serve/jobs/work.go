package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/sys/bounded"
)

// workVersion is that of [Work] in the store.
const workVersion = 1

// Work is what a job is asked to do: a verb's request, and the plan of it that somebody approved.
type Work struct {
	Version int    `json:"version"`
	Verb    string `json:"verb"`
	// Request holds the fields of the verb's request that were given, by name.
	Request map[string]json.RawMessage `json:"request"`
	// Approval is the plan that is to be carried out, and no other. Nil where nothing is charged.
	Approval *sotto.Approval `json:"approval,omitempty"`
	// Shown is what everybody may see of the request who may see jobs: names and values.
	Shown [][2]string `json:"shown,omitempty"`
}

// errCommand is about a job of a program that kept command lines.
var errCommand = errors.New("the job is a command line without a plan, from an older program: add it again with sotto job add, or on the page for a new run, where its plan is approved. Nothing is charged")

// Encode is the work as the store keeps it.
func (w Work) Encode() (json.RawMessage, error) {
	w.Version = workVersion
	return json.Marshal(w)
}

// ReadWork reads what the store keeps, strictly: what is not known is refused.
func ReadWork(data []byte) (w Work, err error) {
	if err := bounded.JSON(data, bounded.Large); err != nil {
		return w, fmt.Errorf("the job cannot be read: %w", err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return w, errCommand
	}
	var of struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &of); err != nil {
		return w, fmt.Errorf("the job cannot be read: %w", err)
	}
	if of.Version != workVersion {
		return w, fmt.Errorf("the job is of version %d, and this program carries out version %d: use the program that added it, or add it again", of.Version, workVersion)
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&w); err != nil {
		return w, fmt.Errorf("the job cannot be read: %w", err)
	}
	return w, nil
}

// Quote is JSON of a value that always has one.
func Quote(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`null`)
	}
	return data
}
