package sotto_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/enginetest"
)

// TestEngineInMemory: files that this process reads pass the suite that every engine does.
func TestEngineInMemory(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{
		Files: true,
		Put: func(t *testing.T, dir string, rows []byte) sotto.TableSource {
			path := filepath.Join(dir, "loans.csv")
			if err := os.WriteFile(path, rows, 0o600); err != nil {
				t.Fatal(err)
			}
			return sotto.TableSource{Location: path}
		},
	})
}
