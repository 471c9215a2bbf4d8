package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/ui"
)

// JsonLines is a file that gets a JSON object a line.
type JsonLines struct {
	Path  string
	File  *os.File // nil if nobody wants it
	Empty bool
}

// Add writes an answer.
func (f *JsonLines) Add(line any) error {
	if f.File == nil {
		return nil
	}
	data, err := ui.EncodeJSON(line, false)
	if err == nil {
		_, err = f.File.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	f.Empty = false
	return nil
}

// Close closes the file, and removes one that is empty.
func (f *JsonLines) Close() error {
	if f.File == nil {
		return nil
	}
	err := f.File.Close()
	if f.Empty {
		err = errors.Join(err, os.Remove(f.Path))
	}
	return err
}

// Compared counts what is known, "" where it is not, and says which share of it was predicted right, and would be if
// the commonest were predicted always.
func Compared(predicted, known []string) (n int, right, commonest float64) {
	count, hits, commonestCount := map[string]int{}, 0, 0
	for i, want := range known {
		if want == "" {
			continue
		}
		n++
		count[want]++
		commonestCount = max(commonestCount, count[want])
		if predicted[i] == want {
			hits++
		}
	}
	return n, float64(hits) / float64(max(n, 1)), float64(commonestCount) / float64(max(n, 1))
}

// maxPredictions are printed.
const maxPredictions = 20

// PrintPredictions prints the first predictions, each of which is a value and the probabilities of all.
func PrintPredictions[T any](p *ui.Page, what string, all []T, value func(T) (string, []float64)) {
	for i, one := range all[:min(len(all), maxPredictions)] {
		v, probabilities := value(one)
		p.Line("  %s %-4d %s (probability %.2f)", what, i+1, v, slices.Max(probabilities))
	}
	if more := len(all) - maxPredictions; more > 0 {
		p.Line("  and %s more: --out writes all of them", ui.Thousands(int64(more)))
	}
	p.Line("")
}

// Sentence makes one of a clause.
func Sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
