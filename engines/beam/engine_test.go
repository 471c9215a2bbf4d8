package beam

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/enginetest"
	"github.com/sotto-dp/sotto/internal/private/table"
)

// TestEngine: Beam passes the suite of refusals and budgets that every engine does.
func TestEngine(t *testing.T) {
	o := Options{Job: Job{Run: onPrism}}
	enginetest.Run(t, enginetest.Engine{
		Files: true,
		Put: func(t *testing.T, dir string, rows []byte) sotto.TableSource {
			path := filepath.Join(dir, "loans.csv")
			if err := os.WriteFile(path, rows, 0o600); err != nil {
				t.Fatal(err)
			}
			return Source([]string{path}, o)
		},
		Several: func(paths ...string) sotto.TableSource { return Source(paths, o) },
	})
}

// TestElsewhereTwice: a place in two spellings is refused.
func TestElsewhereTwice(t *testing.T) {
	for _, pair := range [][2]string{{"gs://b/x.csv", "GS://B//x.csv"}, {"gs://b/a b.csv", "gs://b/./a%20b.csv"}} {
		if _, err := table.OpenElsewhere(pair[:], table.Options{Schema: loans(t)}); err == nil || !strings.Contains(err.Error(), "the same file") {
			t.Errorf("%v: %v", pair, err)
		}
	}
}
