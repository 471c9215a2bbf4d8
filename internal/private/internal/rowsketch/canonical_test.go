package rowsketch

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// TestCanonical: ways to write one value are one value, and values that differ stay so.
func TestCanonical(t *testing.T) {
	for _, same := range [][]string{
		{"54", "54.0", "5.4e1", "+54", " 54\t", "054", "540E-1"},
		{"0", "-0", "0.000", "false", "FALSE"},
		{"0.1", ".1", "1e-1", "0.10000000000000001"},
		{"1", "true", "True"},
		{"12345678901234567890", "12345678901234567890.0"},
		{"", " ", "null", "NaN", "\u00a0"},
		{"Zoë  B.", "Zoe\u0308 B.", " Zoë\r\nB. ", "Zo\xeb B."},
		{"2024-01-05", "2024-01-05 00:00:00", "2024-01-05T00:00:00Z", "2024-01-05T00:00:00.000+00:00"},
		{"2024-01-05T10:00:00.5", "2024-01-05 10:00:00.500+00"},
		{`{"b": [1, 2.0], "a": "x"}`, `{"a":"x","b":[1.0,2],"c":null}`},
	} {
		for _, v := range same[1:] {
			if a, b := canonical(nil, []byte(same[0])), canonical(nil, []byte(v)); !bytes.Equal(a, b) {
				t.Errorf("%q is %q, %q is %q", same[0], a, v, b)
			}
		}
	}
	seen := map[string]string{}
	for _, v := range []string{"54", "55", "5.4", "-54", "540", "x", "X", "x y", "xy", "12345678901234567891", "2024-01-05", "2024-01-06", "2024-01-05T10:00:00", "1e5x", "--1", "{", "{}", "[]", "[[]]", "1.2.3", "1e99999"} {
		c := string(canonical(nil, []byte(v)))
		if other, ok := seen[c]; ok {
			t.Errorf("%q and %q are both %q", v, other, c)
		}
		seen[c] = v
	}
}

// TestLong: texts, addresses and identifiers are known by themselves; dates and numbers,
// which unrelated data sets share, are not.
func TestLong(t *testing.T) {
	for v, want := range map[string]bool{
		"the parcel never arrived": true, "jane.doe@example.com": true, "a1@example.org.uk": true,
		"123e4567-e89b-12d3-a456-426614174000": true, "DE89370400440532013000": true, "ффффффффффффффффф": true,
		"2024-01-05T10:13:27": false, "Fri, 05 Jan 2024 10:13": false, "Wednesday, 25 September 2024": false,
		"0.333333333333333333": false, "-122.4194155000001": false, "short": false, "1234567890123456": false,
	} {
		if got := isLong(canonical(nil, []byte(v))); got != want {
			t.Errorf("%q: %v", v, got)
		}
	}
}

// FuzzCanonical: the canonical form is its own, does not depend on white space at the
// ends, and leaves what is before it in its room alone.
func FuzzCanonical(f *testing.F) {
	for _, v := range []string{"54.0", "-1e-7", "2024-01-05 10:00:00.50Z", `{"a":[1,"x",null]}`, "e\u0301", "\xff\xfe", "a  b", "[[", "+", ".", "-.e1", "1e-32768"} {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		once := bytes.Clone(canonical(nil, v))
		if bytes.ContainsAny(v, "[{") || !utf8.Valid(v) {
			return // documents, and Latin-1, become something else
		}
		if twice := canonical(nil, once); !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q", once, twice)
		}
		padded := append(append([]byte(" \t"), v...), " \r\n"...)
		if other := canonical(nil, padded); !bytes.Equal(once, other) {
			t.Fatalf("%q, with white space %q", once, other)
		}
		if in := canonical([]byte("room"), v); in != nil && string(in) != "room"+string(once) {
			t.Fatalf("%q in a room", in)
		}
	})
}
