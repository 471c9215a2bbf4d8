package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// Field is one of a request, by the name of its flag. Shown is how it may be seen.
type Field struct{ Name, Shown string }

// fieldsOf lists the fields of a request that a verb has flags or settings for.
func fieldsOf(request any, cmd *cobra.Command) (all []Field) {
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
				all = append(all, Field{name, shown})
				continue
			}
			settings.Visit(cmd, func(f *pflag.Flag) {
				if s, is := f.Value.(*ui.SettingFlag); is {
					words := s.Setting.Type == method.Text || s.Setting.Type == method.Many
					all = append(all, Field{f.Name, ui.If(!words, "shown")})
				}
			})
		}
	}
	visit(reflect.ValueOf(request).Elem())
	out := all[:0]
	for _, d := range all {
		if f := settings.Flag(cmd, d.Name); f != nil && !f.Hidden {
			out = append(out, d)
		}
	}
	return out
}

// given reports whether a flag has a value of its own: it was named, or its field was filled in.
func given(f *pflag.Flag) bool { return f.Changed || f.Value.String() != f.DefValue }

// values are those of a flag that may be repeated.
func values(v pflag.Value) (all []string, many bool) {
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
	if all, many := values(f.Value); many {
		return jobs.Quote(all)
	}
	if text := f.Value.String(); literal(f) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return jobs.Quote(f.Value.String())
}

// decodeField reads a field as encoded writes it, and nothing else.
func decodeField(f *pflag.Flag, value json.RawMessage) error {
	texts := make([]string, 1)
	_, many := values(f.Value)
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
		if err := settings.SetTo(f, text); err != nil {
			return err
		}
	}
	return nil
}
