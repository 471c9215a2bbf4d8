package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// conclusions are those of the last checks: computing ε again takes time. A folder is checked by one
// request at a time, and others wait for its conclusion; few folders are checked at once.
type conclusions struct {
	mu      sync.Mutex
	last    map[string]conclusion
	flights singleflight.Group
}

type conclusion struct {
	report  *certificate.Report
	checked time.Time
	state   string
}

// A conclusion counts while the folder looks the same, for a day at most. One that could not be
// reached is tried again after a minute. There are places for more folders than a page shows.
const (
	fresh          = 24 * time.Hour
	again          = time.Minute
	maxConclusions = 4096
	checksAtOnce   = 2
)

// checking has a place for each check under way, in the whole process.
var checking = make(chan struct{}, checksAtOnce)

// released checks what is in a folder, or in one below it; nil if there is no certificate.
func (d *Dashboard) released(route, dir string) *certifiedRelease {
	if dir = certified(dir); dir == "" {
		return nil
	}
	state := appearance(dir)
	known, there := d.conclusions.get(dir, state, d.Now())
	if !there {
		checked, _, _ := d.conclusions.flights.Do(dir+"\x00"+state, func() (any, error) { // it has no error
			if known, there := d.conclusions.get(dir, state, d.Now()); there {
				return known, nil
			}
			checking <- struct{}{}
			defer func() { <-checking }()
			report, err := d.Verify(dir)
			if err != nil {
				report = nil
				d.Log.Warn("a certificate cannot be checked", "route", route, "error", err.Error())
			}
			return d.conclusions.put(dir, conclusion{report, d.Now(), state}), nil
		})
		known, _ = checked.(conclusion)
	}
	return &certifiedRelease{Route: route, Report: known.report, Checked: known.checked, dir: dir, state: known.state}
}

// get returns a conclusion that counts.
func (v *conclusions) get(dir, state string, now time.Time) (conclusion, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, there := v.last[dir]
	counts := fresh
	if known.report == nil {
		counts = again
	}
	return known, there && known.state == state && now.Sub(known.checked) <= counts
}

func (v *conclusions) put(dir string, found conclusion) conclusion {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil || len(v.last) >= maxConclusions {
		v.last = map[string]conclusion{}
	}
	v.last[dir] = found
	return found
}

// appearance changes when files of a folder do, as far as names, sizes and times show it, or its
// certificate: all files of a release have the same time, so that another in its place may look
// the same otherwise.
func appearance(dir string) string {
	sum := sha256.New()
	signed, _ := bounded.ReadFile(filepath.Join(dir, certificate.FileName), bounded.Large) // what cannot be read is found when it is checked
	sum.Write(signed)
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil {
			sum.Write([]byte(path + " " + strconv.FormatInt(info.Size(), 10) + " " + info.ModTime().String() + "\n"))
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))
}
