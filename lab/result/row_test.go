package result_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lab/result"
)

func row(i int) result.Row {
	epsilon := 0.3 * float64(i)
	return result.Row{
		Key: fmt.Sprintf("key-%d", i), Suite: "s", Dataset: "tickets", Task: "tickets", Method: "clipped", Name: "clipped, batch 16",
		Settings: map[string]string{"batch": "16"}, Epsilon: &epsilon, Delta: 1e-6, EpsilonUpper: epsilon, Event: "laplace(1)",
		Shots: 4, Seed: uint64(i), Model: "m", Answerer: "a", Calibrated: i%2 == 0, Metric: "accuracy", Value: 0.5, N: 2,
		Items: []float64{0, 1}, Metrics: map[string]float64{"macro_f1": 0.25}, WriteTokens: 10, PublishedTokens: 100,
		AnswerTokens: 20, WriteSeconds: 1.5, AnswerSeconds: 0.25, Version: "test",
	}
}

// genRow draws rows with everything that a file format could get wrong.
func genRow() *rapid.Generator[result.Row] {
	return rapid.Custom(func(t *rapid.T) result.Row {
		number := rapid.Float64Range(-1e300, 1e300)
		r := result.Row{
			Key: rapid.String().Draw(t, "key"), Dataset: rapid.String().Draw(t, "dataset"), Name: rapid.String().Draw(t, "name"),
			Event: rapid.String().Draw(t, "event"), Shots: rapid.IntRange(0, 100).Draw(t, "shots"), Seed: rapid.Uint64().Draw(t, "seed"),
			Calibrated: rapid.Bool().Draw(t, "calibrated"), Value: number.Draw(t, "value"), N: rapid.Int().Draw(t, "n"),
			WriteTokens: rapid.Int64().Draw(t, "tokens"), WriteSeconds: number.Draw(t, "seconds"),
			Claimed: rapid.Bool().Draw(t, "claimed"), Online: rapid.Bool().Draw(t, "online"), Queries: rapid.Int64().Draw(t, "queries"),
		}
		if rapid.Bool().Draw(t, "has epsilon") {
			e := number.Draw(t, "epsilon")
			r.Epsilon = &e
		}
		if items := rapid.SliceOf(number).Draw(t, "items"); len(items) > 0 {
			r.Items = items
		}
		if m := rapid.MapOf(rapid.String(), number).Draw(t, "metrics"); len(m) > 0 {
			r.Metrics = m
		}
		if m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "settings"); len(m) > 0 {
			r.Settings = m
		}
		return r
	})
}

// TestPlainFilesKeepRows: what is written is read again, in both formats.
func TestPlainFilesKeepRows(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(genRow(), 1, 5).Draw(t, "rows")
		for _, name := range []string{"rows.jsonl", "rows.parquet"} {
			path := filepath.Join(dir, name)
			if err := result.WriteRows(path, rows); err != nil {
				t.Fatal(err)
			}
			got, err := result.ReadRows(path)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, rows) {
				t.Fatalf("%s: %+v instead of %+v", name, got, rows)
			}
		}
	})
	if left, _ := filepath.Glob(filepath.Join(dir, ".rows*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// TestLogTorn: however many bytes of the last row were written when the program died, the
// rows before it stand, and the next continue a line of their own.
func TestLogTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	log, err := result.OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Add(row(1), row(2)); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.IndexByte(string(whole), '\n') + 1
	for cut := first; cut <= len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := []result.Row{row(1)}
		if cut >= len(whole)-1 {
			want = append(want, row(2))
		}
		if got, err := result.ReadRows(path); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d: %d rows, %v", cut, len(got), err)
		}
		log, err := result.OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Add(row(3)); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := result.ReadRows(path); err != nil || !reflect.DeepEqual(got, append(want, row(3))) {
			t.Fatalf("cut at %d, then more: %d rows, %v", cut, len(got), err)
		}
	}
}

// TestBrokenRows: a line within a file that is no row is an error that names it, and
// nothing is lost by opening the file.
func TestBrokenRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	text := "{\"key\":\"a\"}\nnot a row\n{\"key\":\"b\"}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := result.ReadRows(path); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
	if _, err := result.OpenLog(path); err == nil {
		t.Error("a file that is not of rows is added to")
	}
	if left, err := os.ReadFile(path); err != nil || string(left) != text {
		t.Errorf("the file is now %q, %v", left, err)
	}
	if rows, err := result.ReadRows(path + "-missing"); err != nil || rows != nil {
		t.Errorf("a file that does not exist: %v, %v", rows, err)
	}
	if err := os.WriteFile(path+".parquet", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := result.ReadRows(path + ".parquet"); err == nil {
		t.Error("JSONL was read as Parquet")
	}
}

// TestTwoLogs: two programs that add to one file do not write over each other's rows.
func TestTwoLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	var logs [2]*result.Log
	for i := range logs {
		var err error
		if logs[i], err = result.OpenLog(path); err != nil {
			t.Fatal(err)
		}
	}
	var want []result.Row
	for i := range 6 {
		want = append(want, row(i))
		if err := logs[i%2].Add(row(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, log := range logs {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := result.ReadRows(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// TestDamagedParquet: whichever byte is wrong, rows are read or there is an error, also
// where the library panics.
func TestDamagedParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := result.WriteRows(path, []result.Row{row(1), row(2)}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	panicked := 0
	for i := 0; i < len(whole); i += 29 {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0xff
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := result.ReadRows(path); err != nil && strings.Contains(err.Error(), "is damaged: remove it") {
			panicked++
		}
	}
	if panicked == 0 {
		t.Error("the library did not panic: nothing was tested")
	}
}

// TestTidy: the newest of each key stays, and the order does not depend on that of the
// rows.
func TestTidy(t *testing.T) {
	old, fresh := row(1), row(1)
	fresh.Value = 0.75
	none := row(2)
	none.Epsilon = nil
	got := result.Tidy([]result.Row{none, old, row(4), fresh, row(3)})
	want := []result.Row{fresh, row(3), row(4), none}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
