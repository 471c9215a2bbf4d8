package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/config"
)

// TestExposed: a service says what others on its machine can reach.
func TestExposed(t *testing.T) {
	const tls, keys, budgets = "no TLS", "without a key", "spend the budgets"
	for name, test := range map[string]struct {
		opt    Options
		url    string
		people *config.OIDC
		want   []string
	}{
		"as it is by default": {opt: Options{Admin: "127.0.0.1:8081"}, want: []string{tls}},
		"no dashboard":        {},
		"TLS":                 {opt: Options{Admin: "127.0.0.1:8081", Certificate: "c"}},
		"a proxy":             {opt: Options{Admin: "127.0.0.1:8081"}, url: "HTTPS://sotto.example.org"},
		"a proxy in clear":    {opt: Options{Admin: "127.0.0.1:8081"}, url: "http://sotto.example.org", want: []string{tls}},
		"an organisation":     {opt: Options{Admin: "127.0.0.1:8081"}, people: &config.OIDC{URL: "https://sotto.example.org"}},
		"open":                {opt: Options{Open: true}, want: []string{keys}},
		"open to records":     {opt: Options{Open: true, OpenPrivate: true}, want: []string{budgets}},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.opt.Exposed(test.url, test.people)
			if len(got) != len(test.want) {
				t.Fatalf("it says %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("it says %q, want %q", got[i], want)
				}
			}
		})
	}
}

// TestUngained: a release from which nothing was gained says so where it is served.
func TestUngained(t *testing.T) {
	for content, warns := range map[string]bool{
		`{"nothing_gained": {"over": "no_examples", "text": "Nothing was gained.", "next": ["Use a larger model."]}}`: true,
		`{"examples": []}`: false, "nonsense": false, "": false,
	} {
		dir := t.TempDir()
		if content != "" {
			if err := os.WriteFile(filepath.Join(dir, "prompt.json"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		said := ungained(dir)
		if got := strings.Contains(said, "Nothing was gained. Use a larger model."); got != warns {
			t.Errorf("%q: %s", content, said)
		}
	}
}
