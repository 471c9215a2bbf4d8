package run

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// slowClock is an hour later each time that it is asked, as if what lies between took long.
func slowClock(from time.Time) func() time.Time {
	return func() time.Time {
		from = from.Add(time.Hour)
		return from
	}
}

// moments are times finer than the day.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.]*`)

// finer are the times in a folder's files, its signed bytes among them, that tell more than the day.
func finer(t testing.TB, dir string) (found []string) {
	t.Helper()
	for name, text := range tree(t, dir) {
		if name == certificate.FileName {
			var envelope struct{ Payload string }
			must(t, json.Unmarshal([]byte(text), &envelope))
			payload, err := base64.StdEncoding.DecodeString(envelope.Payload)
			must(t, err)
			text = string(payload)
		}
		for _, at := range moments.FindAllString(text, -1) {
			if !strings.HasSuffix(at, "T00:00:00") {
				found = append(found, name+": "+at)
			}
		}
	}
	return found
}

// dated fails unless all files of a folder, and the folder, have the times of a day.
func dated(t testing.TB, dir string, day time.Time) {
	t.Helper()
	for name := range tree(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.ModTime().Equal(day) {
			t.Errorf("%s was changed at %v, want %v: %v", name, info.ModTime().UTC(), day, err)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.ModTime().Equal(day) {
		t.Errorf("the folder was changed at %v, want %v: %v", info.ModTime().UTC(), day, err)
	}
}

// TestFolderTellsTheDay: nothing in a folder shows how long its run took, which depends on who was
// drawn: journal, certificate and files have one day, that on which the call began, also where it
// ended on another.
func TestFolderTellsTheDay(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(phrases(), &decode.NoisyMax{Draw: perToken(), Candidates: 10, Epsilon: 0.2}), newHashModel())
	r := p.runner(o, osDisk{})
	day := time.Date(2026, 11, 17, 0, 0, 0, 0, time.UTC)
	r.engine.now = slowClock(day.Add(22*time.Hour + 59*time.Minute + 58*time.Second))
	_, err := r.do(t.Context())
	must(t, err)
	if found := finer(t, o.Dir); len(found) > 0 {
		t.Errorf("times are published: %v", found)
	}
	dated(t, o.Dir, day)
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}, Now: day.Add(30 * time.Hour)})
	must(t, err)
	if report.Predicate == nil || !report.Predicate.Created.Equal(day) {
		t.Errorf("the certificate is %+v", report)
	}
	if state := journalOf(t, o.Dir); !state.began.Equal(day) {
		t.Errorf("the journal has %v", state.began)
	}
}

// TestResumedOnAnotherDay: a certificate has the day of the call that ends a run, on which its key
// is in use; and a journal of an earlier version, with seconds, is continued with.
func TestResumedOnAnotherDay(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	began := time.Date(2026, 11, 17, 9, 30, 7, 0, time.UTC)
	r := p.runner(o, &brokenDisk{at: certificate.FileName + unfinished})
	r.engine.today = began // as earlier versions did
	if _, err := r.do(t.Context()); err == nil {
		t.Fatal("the disk took the certificate")
	}
	r = p.runner(o, osDisk{})
	r.engine.now = slowClock(began.Add(48 * time.Hour))
	_, err := r.do(t.Context())
	must(t, err)
	day := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	dated(t, o.Dir, day)
	if state := journalOf(t, o.Dir); !state.began.Equal(began) {
		t.Errorf("the journal has %v, want %v", state.began, began)
	}
	for _, at := range finer(t, o.Dir) {
		if !strings.HasPrefix(at, journalFile) {
			t.Errorf("a time is published: %s", at)
		}
	}
}

// brokenDisk is a disk that does not make a file, or set times.
type brokenDisk struct {
	osDisk
	at    string
	times bool
}

func (d *brokenDisk) Create(name string, mode os.FileMode) (file, error) {
	if filepath.Base(name) == d.at {
		return nil, syscall.ENOSPC
	}
	return d.osDisk.Create(name, mode)
}

func (d *brokenDisk) Date(name string, at time.Time) error {
	if d.times {
		return syscall.EPERM
	}
	return d.osDisk.Date(name, at)
}

// TestTimesThatCannotBeSet: a file system that keeps its own times is no reason to lose a run that
// is paid for; the user is told what they show.
func TestTimesThatCannotBeSet(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	result, err := p.runner(o, &brokenDisk{times: true}).do(t.Context())
	must(t, err)
	if said := strings.Join(result.Warnings, "\n"); !strings.Contains(said, "show how long the run took") {
		t.Errorf("it warns of %q", said)
	}
}
