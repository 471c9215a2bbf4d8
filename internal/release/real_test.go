package release

import (
	"strings"
	"testing"
)

// TestReal: files with records do not call them synthetic, or made up by a model.
func TestReal(t *testing.T) {
	r := news(t)
	r.Method, r.Private, r.Guarantee, r.Drawn = "real", false, nil, nil
	files, err := Render(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text := string(f.Data)
		for _, wrong := range []string{"synthetic", "made the texts up", "language model"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s says %q of records", f.Name, wrong)
			}
		}
		if !strings.Contains(text, Mark) && !strings.Contains(text, markMember) {
			t.Errorf("%s does not say %s", f.Name, Mark)
		}
	}
}
