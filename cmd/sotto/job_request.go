package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
)

// A request is the struct that a verb's flags are read into. Those of its fields that have a tag, as in
//
//	epsilon number `job:"epsilon,shown"`
//
// are what a job may ask for, by the name of the flag; all others belong to the one who carries it out, so
// that a job cannot have them. Who may see jobs also sees fields that are shown, and of those that are
// named, which are files mostly, the last part. The tag * stands for settings of methods.

// asks says what a verb's flags are read into, for jobs.
func (p *program) asks(cmd *cobra.Command, request any) {
	if p.requests == nil {
		p.requests = map[*cobra.Command]any{}
	}
	p.requests[cmd] = request
}

// field is one of a request, by its flag. shown is how it may be seen.
type field struct{ name, shown string }

// fieldsOf lists the fields of a request that a verb has flags or settings for.
func fieldsOf(request any, cmd *cobra.Command) (all []field) {
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		for i := range v.NumField() {
			t, tagged := v.Type().Field(i), ""
			if t.Anonymous {
				visit(v.Field(i))
				continue
			}
			if tagged = t.Tag.Get("job"); tagged == "" {
				continue
			}
			name, shown, _ := strings.Cut(tagged, ",")
			if name != "*" {
				all = append(all, field{name, shown})
				continue
			}
			visitAll(cmd, func(f *pflag.Flag) {
				if s, is := f.Value.(*ui.SettingFlag); is {
					words := s.Setting.Type == method.Text || s.Setting.Type == method.Many
					all = append(all, field{f.Name, ui.If(!words, "shown")})
				}
			})
		}
	}
	visit(reflect.ValueOf(request).Elem())
	out := all[:0]
	for _, d := range all {
		if f := flagOf(cmd, d.name); f != nil && !f.Hidden {
			out = append(out, d)
		}
	}
	return out
}

// given reports whether a flag has a value of its own: it was named, or its field was filled in.
func given(f *pflag.Flag) bool { return f.Changed || f.Value.String() != f.DefValue }

// listed are the values of a flag that may be repeated.
func listed(v pflag.Value) (all []string, many bool) {
	switch v := v.(type) {
	case pflag.SliceValue:
		return v.GetSlice(), true
	case *ui.SettingFlag:
		all, _ = v.Value.([]string)
		return all, v.Setting.Type == method.Many
	}
	return nil, false
}

// literal reports whether the flag's text is JSON: a number, or yes or no.
func literal(f *pflag.Flag) bool {
	switch f.Value.Type() {
	case "bool", "int", "int64", "number":
		return true
	}
	return false
}

// encoded is the value of a flag as JSON.
func encoded(f *pflag.Flag) json.RawMessage {
	if all, many := listed(f.Value); many {
		return quoted(all)
	}
	if text := f.Value.String(); literal(f) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return quoted(f.Value.String())
}

// quoted is JSON of texts, which always have one.
func quoted(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`null`)
	}
	return data
}

// decodeField reads a field as encoded writes it, and nothing else.
func decodeField(f *pflag.Flag, value json.RawMessage) error {
	texts := make([]string, 1)
	_, many := listed(f.Value)
	quotes := bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`))
	switch {
	case many:
		if texts = nil; json.Unmarshal(value, &texts) != nil {
			return errors.New("should be a list of texts")
		}
	case quotes == literal(f):
		return fmt.Errorf("should be of type %s", f.Value.Type())
	case quotes:
		if err := json.Unmarshal(value, &texts[0]); err != nil {
			return err
		}
	default:
		texts[0] = string(value)
	}
	for _, text := range texts {
		if err := setTo(f, text); err != nil {
			return err
		}
	}
	return nil
}
