package sotto_test

import (
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
)

// TestRequestsArePlannedAsTheyAre: what a request asks for comes to the plan, field by field, and back. A field that only
// one side has does not compile, or panics here.
func TestRequestsArePlannedAsTheyAre(t *testing.T) {
	var r sotto.Request
	set(t, reflect.ValueOf(&r).Elem())
	in := r.Internal()
	for name, two := range map[string][2]any{
		"request": {r, in}, "choosing": {*r.Choosing, *in.Choosing}, "learning": {*r.Learning, *in.Learning}, "rules": {*r.Rules, *in.Rules},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := reflect.ValueOf(two[1]), reflect.ValueOf(two[0])
			for i := range want.NumField() {
				field := want.Type().Field(i).Name
				if want.Field(i).IsZero() {
					t.Errorf("%s is not tried", field)
				}
				there := got.FieldByName(field)
				if want.Field(i).Kind() == reflect.Pointer {
					if there.Pointer() != want.Field(i).Pointer() {
						t.Errorf("%s is another one", field)
					}
				} else if !reflect.DeepEqual(there.Convert(want.Field(i).Type()).Interface(), want.Field(i).Interface()) {
					t.Errorf("%s: got %v, want %v", field, there, want.Field(i))
				}
			}
		})
	}
	if back := ask.As[sotto.Request](in); !reflect.DeepEqual(back, r) {
		t.Errorf("there and back: got %+v, want %+v", back, r)
	}
	if _, err := plan.New(sotto.Request{Task: task(), Size: 100, Epsilon: 1, Settings: map[string]any{"batch": 16}}.Internal()); err != nil {
		t.Errorf("settings by name: %v", err)
	}
}

// set gives every field something.
func set(t *testing.T, of reflect.Value) {
	t.Helper()
	for i := range of.NumField() {
		switch f := of.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(of.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.Float64:
			f.SetFloat(float64(i) + 0.5)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			if own := f.Elem(); own.Type().PkgPath() == of.Type().PkgPath() {
				set(t, own)
			}
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		case reflect.Struct:
			set(t, f)
		default:
			t.Fatalf("a field of kind %v", f.Kind())
		}
	}
}
