package seal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
)

// TestSealedValuesPrintNothing plants a marker and looks for it in every form that
// the standard library prints values in.
func TestSealedValuesPrintNothing(t *testing.T) {
	const marker = "marker-4711"
	record := seal.NewRecord(4711, marker, marker)
	values := []any{
		record, &record,
		[]seal.Record{record},
		map[string]seal.Record{"a": record},
		struct{ R seal.Record }{record},
		seal.NewCount(4711),
		[]seal.Count{seal.NewCount(4711)},
		seal.NewRef(4711, 4711),
		[]seal.Ref{seal.NewRef(4711, 4711)},
	}
	// The time of a message may have any digits.
	timeless := &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	for _, v := range values {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, timeless)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&log, timeless)).Info("x", "v", v)
		encoded, _ := json.Marshal(v)
		printed := log.String() + string(encoded)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			printed += fmt.Sprintf(verb, v)
		}
		if strings.Contains(printed, "4711") || strings.Contains(printed, fmt.Sprintf("%x", marker)) {
			t.Errorf("%v shows its content", reflect.TypeOf(v))
		}
	}
}

// TestSealedValuesHaveNoWayOut: no exported field, and no method but those that hide.
func TestSealedValuesHaveNoWayOut(t *testing.T) {
	hiding := map[string]bool{"Format": true, "LogValue": true, "MarshalJSON": true, "MarshalText": true}
	for _, typ := range []reflect.Type{reflect.TypeFor[seal.Record](), reflect.TypeFor[seal.Ref](), reflect.TypeFor[seal.Count]()} {
		for i := range typ.NumField() {
			if typ.Field(i).IsExported() {
				t.Errorf("%v.%s is exported", typ, typ.Field(i).Name)
			}
		}
		for i := range typ.NumMethod() {
			if name := typ.Method(i).Name; !hiding[name] {
				t.Errorf("%v.%s is a method that others could call", typ, name)
			}
		}
	}
}
