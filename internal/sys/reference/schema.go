package reference

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		var value bytes.Buffer
		e := json.NewEncoder(&value)
		e.SetEscapeHTML(false)
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(bytes.TrimRight(value.Bytes(), "\n"))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Document is a JSON Schema in the making: named roots, and the types that they use.
type Document struct {
	tag   string
	defs  map[string]object
	names map[reflect.Type]string
	open  map[reflect.Type]bool
}

// NewDocument returns an empty document for values with tags of a kind: json or toml.
func NewDocument(tag string) *Document {
	return &Document{tag: tag, defs: map[string]object{}, names: map[reflect.Type]string{}, open: map[reflect.Type]bool{}}
}

// Open says that objects of a type may have members beside those of the type.
func (d *Document) Open(t reflect.Type) { d.open[t] = true }

// Define adds a name for values of any of the types.
func (d *Document) Define(name, description string, types ...reflect.Type) {
	var def object
	if description != "" {
		def = object{{"description", description}}
	}
	if len(types) == 1 {
		d.defs[name] = append(def, member{"$ref", "#/$defs/" + d.name(types[0])})
		return
	}
	var any []object
	for _, t := range types {
		any = append(any, object{{"$ref", "#/$defs/" + d.name(t)}})
	}
	d.defs[name] = append(def, member{"anyOf", any})
}

// JSON returns the document. A root other than "" is the name of what the whole document describes.
func (d *Document) JSON(id, title, root string) []byte {
	all := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "https://github.com/sotto-dp/sotto/schemas/" + id},
		{"title", title},
	}
	if root != "" {
		all = append(all, member{"$ref", "#/$defs/" + root})
	}
	var defs object
	for _, name := range slices.Sorted(maps.Keys(d.defs)) {
		defs = append(defs, member{name, d.defs[name]})
	}
	raw, err := json.Marshal(append(all, member{"$defs", defs}))
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// name returns what a struct is called in the document, and defines it the first time.
func (d *Document) name(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := d.names[t]; ok {
		return name
	}
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	name, _, _ := strings.Cut(t.Name(), "[")
	if pkg != "main" {
		name = pkg + "." + name
	}
	for d.defs[name] != nil {
		name += "_" // another type of the same name: a local one
	}
	d.names[t] = name
	d.defs[name] = object{} // it may contain itself
	d.defs[name] = d.structure(t)
	return name
}

func (d *Document) structure(t reflect.Type) object {
	def := object{}
	if about := comment(t, ""); about != "" {
		def = object{{"description", about}}
	}
	if t.Kind() != reflect.Struct {
		return append(def, d.of(t)...)
	}
	var properties object
	required := []string{}
	for _, f := range d.fields(t) {
		of := d.of(f.Type)
		if f.Comment != "" {
			of = append(object{{"description", f.Comment}}, of...)
		}
		properties = append(properties, member{f.Key, of})
		if f.Required {
			required = append(required, f.Key)
		}
	}
	if properties == nil {
		properties = object{}
	}
	def = append(def, member{"type", "object"}, member{"properties", properties})
	if len(required) > 0 {
		def = append(def, member{"required", required})
	}
	if d.open[t] {
		return def
	}
	return append(def, member{"additionalProperties", false})
}

// Field is a key of a file, or a member of an object.
type Field struct {
	Key, Comment string
	Type         reflect.Type
	// Required members are there in each object.
	Required bool
}

// Fields lists the keys of a struct, as its tags of a kind name them.
func Fields(t reflect.Type, tag string) []Field { return NewDocument(tag).fields(t) }

func (d *Document) fields(t reflect.Type) []Field {
	var all []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get(d.tag), ",")
		switch {
		case f.Anonymous && name == "":
			in := f.Type
			if in.Kind() == reflect.Pointer {
				in = in.Elem()
			}
			if in.Kind() == reflect.Struct {
				for _, one := range d.fields(in) {
					one.Required = one.Required && f.Type.Kind() != reflect.Pointer
					all = slices.DeleteFunc(all, func(had Field) bool { return had.Key == one.Key })
					all = append(all, one)
				}
			}
			continue
		case !f.IsExported() || name == "-" || name == "" && d.tag == "toml":
			continue
		case name == "":
			name = f.Name
		}
		all = slices.DeleteFunc(all, func(had Field) bool { return had.Key == name }) // an outer field hides it
		all = append(all, Field{
			Key: name, Comment: comment(t, f.Name), Type: f.Type,
			Required: d.tag == "json" && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero"),
		})
	}
	return all
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	timeType      = reflect.TypeFor[time.Time]()
	durationType  = reflect.TypeFor[time.Duration]()
)

// of returns the schema of a type where it is used.
func (d *Document) of(t reflect.Type) object {
	kind := func(name string) object { return object{{"type", name}} }
	switch {
	case t == timeType:
		return object{{"type", "string"}, {"format", "date-time"}}
	case t == durationType && d.tag == "json":
		return object{{"type", "integer"}, {"description", "nanoseconds"}}
	case t.Implements(marshaler) && t.Kind() == reflect.Float64:
		return object{{"anyOf", []object{kind("number"), {{"const", "Infinity"}}}}}
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		return object{}
	case t.Implements(textMarshaler):
		return kind("string")
	}
	switch t.Kind() {
	case reflect.Bool:
		return kind("boolean")
	case reflect.String:
		return kind("string")
	case reflect.Float32, reflect.Float64:
		return kind("number")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return kind("integer")
	case reflect.Pointer:
		return d.nullable(d.of(t.Elem()))
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return kind("string") // base64
		}
		return d.nullable(object{{"type", "array"}, {"items", d.of(t.Elem())}})
	case reflect.Map:
		return d.nullable(object{{"type", "object"}, {"additionalProperties", d.of(t.Elem())}})
	case reflect.Struct:
		if t.Name() == "" {
			return d.structure(t)
		}
		return object{{"$ref", "#/$defs/" + d.name(t)}}
	}
	return object{} // an interface may hold anything
}

// nullable is a schema of what Go writes as null where there is none. TOML has no null.
func (d *Document) nullable(s object) object {
	if d.tag != "json" || len(s) == 0 {
		return s
	}
	return object{{"anyOf", []object{s, {{"type", "null"}}}}}
}
