package suite

import (
	"reflect"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
)

// A file has the settings of all methods as keys of [[method]], which package method lists:
// so its type is made when the program starts. Anyone who decodes it knows every key, and finds
// others.
var (
	settingsType = reflect.StructOf(append(fieldsOf(reflect.TypeFor[Settings](), "Values"), valueFields()...))
	methodType   = reflect.StructOf(append(append(fieldsOf(reflect.TypeFor[Method](), "Settings", "On"), fieldsOf(settingsType)...),
		reflect.StructField{Name: "On", Type: reflect.MapOf(reflect.TypeFor[string](), settingsType), Tag: `toml:"on"`}))
	fileType = reflect.StructOf(append(fieldsOf(reflect.TypeFor[Suite](), "Methods"),
		reflect.StructField{Name: "Methods", Type: reflect.SliceOf(methodType), Tag: `toml:"method"`}))
)

// fieldsOf returns the exported fields of a struct, without some.
func fieldsOf(t reflect.Type, without ...string) []reflect.StructField {
	var out []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		skip := !f.IsExported()
		for _, name := range without {
			skip = skip || f.Name == name
		}
		if !skip {
			out = append(out, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
		}
	}
	return out
}

// valueFields returns a field for each setting that some method has.
func valueFields() []reflect.StructField {
	types := map[method.Type]reflect.Type{
		method.Int: reflect.TypeFor[int](), method.Float: reflect.TypeFor[float64](), method.Bool: reflect.TypeFor[bool](), method.Choice: reflect.TypeFor[string](),
	}
	var out []reflect.StructField
	seen := map[string]bool{}
	for _, k := range kindList {
		for _, one := range k.Settings {
			if !seen[one.Name] {
				seen[one.Name] = true
				out = append(out, reflect.StructField{Name: valueField + one.Name, Type: types[one.Type], Tag: reflect.StructTag(`toml:"` + one.Name + `"`)})
			}
		}
	}
	return out
}

// valueField begins the names of fields that are settings of methods.
const valueField = "Value_"

// suiteOf returns the suite of a file.
func suiteOf(file reflect.Value) Suite {
	var s Suite
	assign(file, reflect.ValueOf(&s).Elem())
	methods := file.FieldByName("Methods")
	for i := range methods.Len() {
		var m Method
		from := methods.Index(i)
		assign(from, reflect.ValueOf(&m).Elem())
		m.Settings = settingsOf(from)
		for on := from.FieldByName("On").MapRange(); on.Next(); {
			if m.On == nil {
				m.On = map[string]Settings{}
			}
			m.On[on.Key().String()] = settingsOf(on.Value())
		}
		s.Methods = append(s.Methods, m)
	}
	return s
}

func settingsOf(from reflect.Value) Settings {
	var s Settings
	assign(from, reflect.ValueOf(&s).Elem())
	values := method.Values{}
	for i := range from.NumField() {
		if name, ok := strings.CutPrefix(from.Type().Field(i).Name, valueField); ok {
			values[name] = from.Field(i).Interface()
		}
	}
	if values = values.Given(); len(values) > 0 {
		s.Values = values
	}
	return s
}

// assign copies the fields that two structs have in common.
func assign(from, to reflect.Value) {
	for i := range to.NumField() {
		f := to.Type().Field(i)
		if source := from.FieldByName(f.Name); f.IsExported() && source.IsValid() && source.Type() == f.Type {
			to.Field(i).Set(source)
		}
	}
}
