package bounded_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// TestCount: values are counted at every level, and what is within strings is none.
func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 1, `[]`: 2, `[1,2,3]`: 4, `{"a":1,"b":[2,{}]}`: 6, `"[,,,{"`: 1, `{"a,\"[":"},{"}`: 2,
	} {
		t.Run(text, func(t *testing.T) {
			if got := bounded.Count([]byte(text)); got != want {
				t.Errorf("%s has %d values, want %d", text, got, want)
			}
		})
	}
}

// TestCountTakesNoMemory: nor does it take more for more values.
func TestCountTakesNoMemory(t *testing.T) {
	text := []byte("[" + strings.Repeat("{},", 100_000) + "1]")
	if n := testing.AllocsPerRun(3, func() { bounded.Count(text) }); n != 0 {
		t.Errorf("counting allocates %v times", n)
	}
}

// TestObject: it has the members that encoding/json finds, and not more than it may.
func TestObject(t *testing.T) {
	for n, ok := range map[int]bool{10: true, 11: false} {
		text := "{"
		for i := range n {
			text += fmt.Sprintf(`"m%d":%d,`, i, i)
		}
		members, err := bounded.Object([]byte(strings.TrimSuffix(text, ",")+"}"), 10)
		if (err == nil) != ok || ok && len(members) != n {
			t.Errorf("%d members where 10 may be: %d, %v", n, len(members), err)
		}
		if _, is := errors.AsType[*bounded.Error](err); is == ok {
			t.Errorf("%d members where 10 may be: %v", n, err)
		}
	}
	for _, text := range []string{"", " ", "1", "null", "[]", `{"a":1`, `{"a":1}}`, `{"a":1}{}`, `{"a"}`, `{,}`, `"{}"`} {
		if members, err := bounded.Object([]byte(text), 10); err == nil {
			t.Errorf("%q is taken for an object with %d members", text, len(members))
		}
	}
}

// TestObjectDoesNotCopy: the values are parts of the text, and nothing can be appended to one
// over the next.
func TestObjectDoesNotCopy(t *testing.T) {
	text := []byte(`{"a": [1, 2] ,"b":"x"}`)
	members, err := bounded.Object(text, 10)
	if err != nil {
		t.Fatal(err)
	}
	text[7] = '7'
	if got := string(members["a"]); got != "[7, 2]" {
		t.Errorf("the member a is %s, want [7, 2]", got)
	}
	if got := append(members["a"], '!'); string(text) != `{"a": [7, 2] ,"b":"x"}` {
		t.Errorf("appending to a member (%s) makes the text %s", got, text)
	}
}

// FuzzObject: what is accepted, and what is found, is as with encoding/json, and there are not more
// values than are counted.
func FuzzObject(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1}`, ` { "a" : [ 1 , {"b":"]}"} ] , "c" : null } `, `{"a":1,"a":2}`, `{"\u0061":-1.5e3,"":{}}`, `{"a":"\\"}`, `{"a":"\"}`,
		"{\"\xff\":true,\"b\":\"\xff\"}", `{"a":1,}`, `[{"a":1}]`, `null`, `{"a":tru}`, `{"a":1}x`, "{\"a\":\x00}", `{"a":{"b":[[[]]]},"c":""}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]json.RawMessage
		ok := json.Unmarshal([]byte(text), &want) == nil && want != nil
		got, err := bounded.Object([]byte(text), len(text))
		if (err == nil) != ok {
			t.Fatalf("encoding/json takes it: %t; this: %v", ok, err)
		}
		if ok && !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			if counted, there := bounded.Count([]byte(text)), valuesIn(v); counted < there {
				t.Errorf("%d values are counted, and there are %d", counted, there)
			}
		}
	})
}

func valuesIn(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += valuesIn(e)
		}
	case []any:
		for _, e := range v {
			n += valuesIn(e)
		}
	}
	return n
}
