package demo

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSecretsArePlanted(t *testing.T) {
	each(t, func(t *testing.T, m *Messages) {
		all := m.Secrets(manyTickets)
		known := map[string]bool{}
		for _, s := range all {
			known[s] = true
		}
		if len(known) != len(all) {
			t.Error("a secret is listed twice")
		}
		with, kinds := 0, map[string]int{}
		for i := range manyTickets {
			k, planted := m.ticket(training, i)
			if len(planted) > 0 {
				with++
			}
			for _, s := range planted {
				if !strings.Contains(k.Text, s) {
					t.Fatalf("%q is not in %q", s, k.Text)
				}
				if !known[s] {
					t.Fatalf("%q of ticket %d is not listed", s, i)
				}
				kinds[kind(s)]++
			}
		}
		if required := map[string]int{"helpline": 40, "office": 20, "repairs": 30}[m.name]; with < manyTickets*required/100 || with > manyTickets*7/10 {
			t.Errorf("%d of %d messages have a secret", with, manyTickets)
		}
		for _, k := range []string{"person", "phone", "member", "email", "address"} {
			if kinds[k] < manyTickets/50 {
				t.Errorf("only %d of kind %s: %v", kinds[k], k, kinds)
			}
		}
	})
}

func kind(secret string) string {
	switch {
	case strings.Contains(secret, "@"):
		return "email"
	case strings.HasPrefix(secret, "555-"):
		return "phone"
	case strings.HasPrefix(secret, "OL-"):
		return "member"
	case secret[0] >= '0' && secret[0] <= '9':
		return "address"
	}
	return "person"
}

// TestNobodyIsReal keeps to what is reserved for fiction.
func TestNobodyIsReal(t *testing.T) {
	for _, s := range slices.Concat(Helpline().Secrets(manyTickets), Office().Secrets(manyTickets), Repairs().Secrets(manyTickets)) {
		if _, domain, ok := strings.Cut(s, "@"); ok && !slices.Contains([]string{"example.com", "example.net", "example.org"}, domain) {
			t.Errorf("somebody may own the address %s", s)
		}
	}
}

func TestFind(t *testing.T) {
	secrets := []string{"Anneke Verwick", "555-123-4567", "OL-1234-567", "anneke.verwick@example.org", "14 Foxlathe Lane"}
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"I am in debt.", nil},
		{"Ask anneke  VERWICK!", secrets[:1]},
		{"call 555 123 45 67", secrets[1:2]},
		{"ol1234567 and 14, Foxlathe\nLane", []string{secrets[2], secrets[4]}},
		{"anneke.verwick@example.org", []string{secrets[0], secrets[3]}},
		{"Anneke Verwi ck is found too, Anneke is not", secrets[:1]},
		{"555-123-456", nil},
	} {
		if got := Find(test.text, secrets); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

// TestFindWhatIsThere: a secret is found in the middle of any text, and every message
// gives away what was planted in it.
func TestFindWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 100_000).Draw(t, "ticket")
		k, planted := rapid.SampledFrom([]*Messages{Helpline(), Office(), Repairs()}).Draw(t, "messages").ticket(training, i)
		text := rapid.String().Draw(t, "before") + k.Text + rapid.String().Draw(t, "after")
		if got := Find(text, planted); !slices.Equal(got, planted) {
			t.Fatalf("found %q of %q", got, planted)
		}
	})
}
