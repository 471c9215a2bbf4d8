package serve

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/privacy/certificate"
)

// How long a run takes depends on who was drawn. fineTimes are times of day in any usual form, and
// numbers that count seconds or less since 1970; durations are names of what was measured on a clock.
var (
	fineTimes = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.]*|\d{1,2} [A-Z][a-z]{2,8} \d{4}, \d\d:\d\d|[^\w.]1[6-9]\d{8}(\d{3}){0,3}[^\w.]`)
	durations = regexp.MustCompile(`"[a-z_]*(seconds|duration|elapsed|latency|millis|took)[a-z_]*":`)
)

// timeless fails if a text tells a time finer than the day, or how long something took.
func timeless(t *testing.T, where, text string) {
	t.Helper()
	for _, at := range fineTimes.FindAllString(text, -1) {
		if !strings.HasSuffix(at, "T00:00:00") {
			t.Errorf("%s tells the time %q", where, at)
		}
	}
	if found := durations.FindString(text); found != "" {
		t.Errorf("%s tells how long something took: %s", where, found)
	}
}

// timelessFile is timeless for a file, for the bytes that it signs, and for when it was changed.
func timelessFile(t *testing.T, dir, path string) {
	t.Helper()
	name := strings.TrimPrefix(path, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) == certificate.FileName {
		var envelope struct{ Payload string }
		if err := json.Unmarshal(data, &envelope); err != nil {
			t.Fatal(err)
		}
		if data, err = base64.StdEncoding.DecodeString(envelope.Payload); err != nil {
			t.Fatal(err)
		}
	}
	timeless(t, name, string(data))
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(certificate.Day(info.ModTime())) {
		t.Errorf("%s tells that it was changed at %v: %v", name, info.ModTime().UTC().Format(time.RFC3339Nano), err)
	}
}

// timelessIn checks all that was released below a folder, and says how many releases there are.
func timelessIn(t *testing.T, dir string) (releases, answers int) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == certificate.FileName:
			releases++
			all, err := os.ReadDir(filepath.Dir(path))
			for _, f := range all {
				timelessFile(t, dir, filepath.Join(filepath.Dir(path), f.Name()))
			}
			return err
		case strings.HasPrefix(e.Name(), "answers") && strings.Contains(e.Name(), ".jsonl"):
			answers++
			timelessFile(t, dir, path)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return releases, answers
}

// TestTimeless: the check finds what it is for.
func TestTimeless(t *testing.T) {
	for text, told := range map[string]bool{
		`{"time":"2026-11-17T09:30:07Z"}`:                true,
		`{"time":"2026-11-17T00:00:00Z"}`:                false,
		"2026-11-17 09:30":                               true,
		"17 Nov 2026, 09:30":                             true,
		"17 November 2026":                               false,
		`{"at":1794907807}`:                              true,
		`{"at": 1794907807123456789 }`:                   true,
		`{"digest":"ab1794907807cd","share":0.17949078}`: false,
		`{"write_seconds": 39.1}`:                        true,
		`{"seconds": 3}`:                                 true,
	} {
		t.Run(text, func(t *testing.T) {
			found := durations.MatchString(text)
			for _, at := range fineTimes.FindAllString(text, -1) {
				found = found || !strings.HasSuffix(at, "T00:00:00")
			}
			if found != told {
				t.Errorf("found is %v", found)
			}
		})
	}
}
