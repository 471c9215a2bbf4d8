package web

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/sketch"
	"github.com/sotto-dp/sotto/sys/expect"
)

// persons is data with the records of people with these numbers, in a file.
func persons(t testing.TB, file string, ranges ...[2]int) ledger.Identity {
	t.Helper()
	const key = "00000000000000aa"
	s, rows, sum := sketch.New(key), sketch.NewBuilder(sketch.Size), uint64(0)
	for _, r := range ranges {
		for i := r[0]; i <= r[1]; i++ {
			h := sha256.Sum256(fmt.Append(nil, i))
			rows.Add(binary.BigEndian.Uint64(h[:]))
			sum += binary.BigEndian.Uint64(h[:])
		}
	}
	s.Rows, s.Whole = rows.List(), fmt.Sprintf("%016x", sum)
	mac := sha256.Sum256([]byte(file))
	f, err := ledger.NewFingerprint(mac[:])
	must(t, err)
	return ledger.Identity{Fingerprint: f, Sketch: s, KeyID: key}
}

// shores is a site with two more data sets: owner-one owns north and all others, owner-two south.
func shores(t testing.TB, change func(*Options)) *site {
	t.Helper()
	s := newSite(t, change)
	enter := func(name string, id ledger.Identity) string {
		d, err := s.ledger.Init(t.Context(), ledger.InitRequest{Dataset: id.Fingerprint, Name: name, Sketch: id.Sketch, KeyID: id.KeyID, Budget: ledger.Budget{Epsilon: 3, Delta: 1e-6}})
		must(t, err)
		return string(d.Fingerprint)
	}
	loans, err := s.ledger.Show(t.Context(), "loans")
	must(t, err)
	must(t, s.Store.SetOwner(t.Context(), "root", "owner-two", string(s.tickets.Fingerprint), true))
	for set, owner := range map[string]string{
		string(loans.Fingerprint): "owner-one", enter("north", persons(t, "north.csv", [2]int{1, 500})): "owner-one", enter("south", persons(t, "south.csv", [2]int{1001, 1500})): "owner-two",
	} {
		must(t, s.Store.SetOwner(t.Context(), "root", owner, set, false))
	}
	return s
}

// sent is an upload by operator-one, of records of people.
func (s *site) sent(t testing.TB, id string, known ledger.Identity) {
	t.Helper()
	_, err := s.Store.AddUpload(t.Context(), "account operator-one", store.Upload{ID: id, Name: id + ".csv", File: "/private/place/" + id + ".csv.age", Size: 10})
	must(t, err)
	s.Runs.(*fakeRuns).known[id] = known
}

func (s *site) print(t testing.TB, name string) string {
	t.Helper()
	d, err := s.ledger.Show(t.Context(), name)
	must(t, err)
	return string(d.Fingerprint)
}

func (s *site) end(t testing.TB) string {
	t.Helper()
	c, err := s.ledger.Checkpoint(t.Context())
	must(t, err)
	return c.String()
}

func (s *site) state(t testing.TB, id string) store.Upload {
	t.Helper()
	u, err := s.Store.Upload(t.Context(), id)
	must(t, err)
	return u
}

// decide sends the form of an upload as a browser would: what is said for each of the data sets
// that the page asks about, "other" if nothing is given.
func (b *browser) decide(t testing.TB, s *site, id string, said map[string]string, more ...string) answer {
	t.Helper()
	page := b.get("/uploads/" + id).body
	fields := more
	for _, name := range []string{"tickets", "loans", "north", "south"} {
		f := s.print(t, name)
		if !strings.Contains(page, `name="set-`+f) {
			continue
		}
		say := said[name]
		if say == "" {
			say = "other"
		}
		fields = append(fields, "set-"+f, say)
		if strings.Contains(page, `name="shown-`+f) {
			fields = append(fields, "shown-"+f, "1")
		}
	}
	return b.send("/uploads/"+id+"/decide", append(fields, "reason", "a list of the clinic")...)
}

// TestOwnersSeeTheirOwn: what an upload shares with a data set shows on no page except for those of its
// owners, neither before anybody has decided nor after others have, and nothing of it is in the
// ledger.
func TestOwnersSeeTheirOwn(t *testing.T) {
	s := shores(t, nil)
	before := s.end(t)
	overlaps := map[string][][2]int{"none": {{9001, 9100}}, "north": {{7, 7}, {9001, 9100}}, "south": {{1007, 1007}, {9001, 9100}}, "both": {{7, 7}, {1007, 1007}, {9001, 9100}}}
	for name, r := range overlaps {
		s.sent(t, "up-"+name, persons(t, name, r...))
	}
	people := map[string]*browser{}
	for _, name := range []string{"viewer-one", "operator-one", "owner-one", "owner-two", "owner-three"} {
		people[name] = s.signIn(t, name)
	}
	// page is as somebody sees it, whatever the upload is called.
	page := func(who, of, path string) string {
		a := people[who].get(strings.ReplaceAll(path, "ID", "up-"+of))
		if _, plan, is := strings.Cut(a.body, `<div id="plan"`); is { // the list of uploads is before and after
			a.body, _, _ = strings.Cut(plan, "</section>")
		}
		return fmt.Sprint(a.status) + regexp.MustCompile(`<time.*?</time>`).ReplaceAllString(strings.ReplaceAll(a.body, "up-"+of, "ID"), "")
	}
	same := func(who, path string, uploads ...string) {
		t.Helper()
		for _, other := range uploads[1:] {
			if page(who, uploads[0], path) != page(who, other, path) {
				t.Errorf("%s sees on %s whether the upload shares records: %s and %s differ", who, path, uploads[0], other)
			}
		}
	}
	check := func() {
		t.Helper()
		for _, who := range []string{"viewer-one", "operator-one", "owner-three"} {
			same(who, "/uploads/ID", "none", "north", "south", "both")
		}
		same("operator-one", "/runs/new?source=upload%3AID&task=own&labels=a%0Ab&size=500", "none", "north", "south", "both")
		same("owner-one", "/uploads/ID", "none", "south")
		same("owner-one", "/uploads/ID", "north", "both")
		same("owner-two", "/uploads/ID", "none", "north")
		same("owner-two", "/uploads/ID", "south", "both")
		if s.end(t) != before {
			t.Error("the ledger has learnt something")
		}
	}
	check()
	if page("owner-one", "none", "/uploads/ID") == page("owner-one", "north", "/uploads/ID") {
		t.Error("an owner does not see what an upload shares with their data set")
	}
	// The answers to the first of two owners are the same too.
	said := map[string]string{}
	for name := range overlaps {
		a := people["owner-one"].decide(t, s, "up-"+name, map[string]string{"north": "claim"})
		said[name] = fmt.Sprint(a.status, strings.ReplaceAll(a.header.Get("Location"), "up-"+name, "ID"))
		if u := s.state(t, "up-"+name); u.State != store.UploadWaiting {
			t.Errorf("%s is %s before all have decided", name, u.State)
		}
	}
	for name, got := range said {
		if got != said["none"] || !strings.HasPrefix(got, "303") {
			t.Errorf("%s: %s, and %s", name, got, said["none"])
		}
	}
	check()
	log, err := s.Store.Audit(t.Context(), 100)
	must(t, err)
	for _, e := range log {
		if text := strings.ToLower(fmt.Sprint(e)); strings.Contains(text, "clinic") || strings.Contains(text, "claim") {
			t.Errorf("the log says what was decided: %s", text)
		}
	}
}

// TestAssign: once all owners have decided, the upload is a version of the data set that claims
// it, a data set that counts toward several, or one of its own, and says so in the ledger.
func TestAssign(t *testing.T) {
	for name, tt := range map[string]struct {
		data     [][2]int
		one, two string
		budget   bool
		// is what it becomes, with the data sets that it counts toward and those with other people.
		is, toward, apart string
	}{
		"a version":              {[][2]int{{1, 510}}, "claim", "other", false, "north", "", ""},
		"by their word":          {[][2]int{{9001, 9100}}, "other", "claim", false, "south", "", ""},
		"people of both":         {[][2]int{{400, 500}, {1001, 1100}}, "claim", "claim", false, "upload-one", "north south", ""},
		"other people of two":    {[][2]int{{400, 500}, {1001, 1100}}, "other", "claim", false, "upload-one", "south", "north"},
		"new people":             {[][2]int{{9001, 9100}}, "other", "other", true, "clinic", "", ""},
		"new people, same rows":  {[][2]int{{499, 500}, {9001, 9100}}, "other", "other", true, "clinic", "", "north"},
		"a budget nobody needed": {[][2]int{{1, 510}}, "claim", "other", true, "north", "", ""},
		"no budget yet":          {[][2]int{{9001, 9100}}, "other", "other", false, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := shores(t, nil)
			s.sent(t, "one", persons(t, "upload", tt.data...))
			first, second := s.signIn(t, "owner-one"), s.signIn(t, "owner-two")
			var more []string
			if tt.budget {
				more = []string{"name", "clinic", "epsilon", "2", "delta", "1e-6"}
			}
			if a := first.decide(t, s, "one", map[string]string{"north": tt.one}); a.status != http.StatusSeeOther {
				t.Fatalf("%d %s", a.status, a.body)
			}
			a := second.decide(t, s, "one", map[string]string{"south": tt.two}, more...)
			if a.status != http.StatusSeeOther {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if a := second.get(a.header.Get("Location")); a.status != http.StatusOK || !strings.Contains(a.body, `class="said"`) {
				t.Errorf("anyone who decided last sees %d %s", a.status, a.body)
			}
			u := s.state(t, "one")
			if tt.is == "" {
				if u.State != store.UploadWaiting || u.Dataset != "" {
					t.Errorf("%+v", u)
				}
				if page := first.get("/").body; !strings.Contains(page, "The upload one.csv waits for your decision") {
					t.Error("nobody is told that it needs a budget")
				}
				return
			}
			d, err := s.ledger.Show(t.Context(), tt.is)
			must(t, err)
			if u.State != store.UploadAssigned || u.Dataset != string(d.Fingerprint) {
				t.Fatalf("%+v", u)
			}
			links := map[string][]string{}
			for _, l := range d.Links {
				links[l.Kind] = append(links[l.Kind], l.Name)
			}
			slices.Sort(links["toward"])
			if strings.Join(links["toward"], " ") != tt.toward || strings.Join(links["apart"], " ") != tt.apart {
				t.Errorf("%v", links)
			}
			// Runs find it, and nothing else of it.
			if got, err := s.ledger.Resolve(t.Context(), ledger.ResolveRequest{Identity: s.Runs.(*fakeRuns).known["one"], As: u.Dataset}); err != nil || got.Version {
				t.Errorf("%+v, %v", got, err)
			}
			if owners, err := s.owners(t.Context(), u.Dataset); err != nil || len(owners) == 0 {
				t.Errorf("nobody owns it: %v", err)
			}
			if a := first.decide(t, s, "one", nil, "name", "other", "epsilon", "1", "delta", "1e-6"); a.status == http.StatusSeeOther {
				t.Error("it is decided twice")
			}
		})
	}
}

// TestDecideForOthers: an owner decides for the data sets that they own, after having seen what is
// shared, with a reason; nobody else decides.
func TestDecideForOthers(t *testing.T) {
	s := shores(t, nil)
	s.sent(t, "one", persons(t, "upload", [2]int{1, 510}))
	operator, one, two, three := s.signIn(t, "operator-one"), s.signIn(t, "owner-one"), s.signIn(t, "owner-two"), s.signIn(t, "owner-three")
	north, south, loans := s.print(t, "north"), s.print(t, "south"), s.print(t, "loans")
	tickets := string(s.tickets.Fingerprint)
	for name, a := range map[string]answer{
		"an operator":         operator.send("/uploads/one/decide", "set-"+north, "claim", "reason", "x"),
		"an owner of nothing": three.send("/uploads/one/decide", "set-"+north, "claim", "shown-"+north, "1", "reason", "x"),
		"not shown":           one.send("/uploads/one/decide", "set-"+north, "claim", "set-"+tickets, "other", "set-"+loans, "other", "reason", "x"),
		"no reason":           one.send("/uploads/one/decide", "set-"+north, "claim", "shown-"+north, "1", "set-"+tickets, "other", "set-"+loans, "other"),
		"not for all":         one.send("/uploads/one/decide", "set-"+north, "claim", "shown-"+north, "1", "reason", "x"),
		"no such budget":      two.send("/uploads/one/decide", "set-"+south, "other", "name", "x", "epsilon", "-1", "delta", "1e-6"),
		"no such upload":      one.send("/uploads/none/decide", "set-"+north, "claim", "reason", "x"),
	} {
		if a.status == http.StatusSeeOther {
			t.Errorf("%s is taken", name)
		}
	}
	if a := one.decide(t, s, "one", map[string]string{"north": "claim"}, "set-"+south, "claim"); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	of, err := s.Store.UploadDecisions(t.Context(), "one")
	must(t, err)
	if len(of) != 3 || s.state(t, "one").State != store.UploadWaiting {
		t.Errorf("%+v", of)
	}
	// Somebody who owns it no longer has not decided.
	must(t, s.Store.SetOwner(t.Context(), "root", "owner-one", loans, true))
	must(t, s.Store.SetOwner(t.Context(), "root", "owner-two", loans, false))
	if a := two.send("/uploads/one/decide", "set-"+south, "other", "set-"+loans, "other"); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if u := s.state(t, "one"); u.State != store.UploadAssigned || u.Dataset != north {
		t.Errorf("%+v", u)
	}
}

// TestDecidedBeforeItWasKnown: what an owner said without being shown that records are shared does not
// count once they are; and a file that the ledger has seen is that data set.
func TestDecidedBeforeItWasKnown(t *testing.T) {
	s := shores(t, nil)
	s.sent(t, "one", persons(t, "upload", [2]int{9001, 9100}))
	one, two := s.signIn(t, "owner-one"), s.signIn(t, "owner-two")
	one.decide(t, s, "one", nil)
	more := persons(t, "more.csv", [2]int{1, 500}, [2]int{9001, 9050})
	if got, err := s.ledger.Resolve(t.Context(), ledger.ResolveRequest{Identity: more}); err != nil || got.Name != "north" {
		t.Fatalf("%+v, %v", got, err)
	}
	before := s.end(t)
	two.decide(t, s, "one", nil, "name", "clinic", "epsilon", "1", "delta", "1e-6")
	if u := s.state(t, "one"); u.State != store.UploadWaiting || s.end(t) != before {
		t.Fatalf("%+v", u)
	}
	one.decide(t, s, "one", map[string]string{"north": "claim"})
	if u := s.state(t, "one"); u.State != store.UploadAssigned || u.Dataset != s.print(t, "north") {
		t.Errorf("%+v", u)
	}
	s.sent(t, "copy", persons(t, "south.csv", [2]int{1001, 1500}))
	one.decide(t, s, "copy", map[string]string{"north": "claim"})
	if a := two.decide(t, s, "copy", map[string]string{"south": "other"}); a.status == http.StatusSeeOther {
		t.Error("the very file of a data set is of other people")
	}
	two.decide(t, s, "copy", map[string]string{"south": "claim"})
	// owner-one says that south has people of north: not by a copy of it.
	d, err := s.ledger.Show(t.Context(), "south")
	expect.NoError(t, err)
	expect.Equal(t, "len(d.Links)", len(d.Links), 0)
	expect.Equal(t, "s.state(t, 'copy').State", s.state(t, "copy").State, store.UploadWaiting)
	one.decide(t, s, "copy", nil)
	if u := s.state(t, "copy"); u.State != store.UploadAssigned || u.Dataset != s.print(t, "south") {
		t.Errorf("%+v", u)
	}
}

// brittle is a ledger that fails when something is entered.
type brittle struct {
	*ledger.Ledger
	after bool
	down  *atomic.Bool
}

func (l brittle) Init(ctx context.Context, req ledger.InitRequest) (d ledger.Dataset, err error) {
	if l.down.Load() && !l.after {
		return d, errors.New("no route to host")
	}
	if d, err = l.Ledger.Init(ctx, req); l.down.Load() {
		err = errors.New("the connection was lost")
	}
	return d, err
}

// TestAssignThroughFaults: a ledger that is out of reach before or after it has entered an upload
// is asked again later, and enters it once.
func TestAssignThroughFaults(t *testing.T) {
	for _, after := range []bool{false, true} {
		var down atomic.Bool
		down.Store(true)
		var s *site
		s = shores(t, func(o *Options) {
			o.Ledger = func(context.Context) (Ledger, error) { return brittle{s.ledger, after, &down}, nil }
		})
		s.sent(t, "one", persons(t, "upload", [2]int{9001, 9100}))
		one, two := s.signIn(t, "owner-one"), s.signIn(t, "owner-two")
		one.decide(t, s, "one", nil, "name", "clinic", "epsilon", "1", "delta", "1e-6")
		if a := two.decide(t, s, "one", nil); a.status != http.StatusServiceUnavailable {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if u := s.state(t, "one"); u.State != store.UploadAssigning {
			t.Fatalf("%+v", u)
		}
		if a := two.decide(t, s, "one", nil, "name", "other"); a.status == http.StatusSeeOther {
			t.Error("it is decided anew")
		}
		if a := one.send("/uploads/one/remove"); a.status == http.StatusSeeOther {
			t.Error("it is removed while it is assigned")
		}
		down.Store(false)
		if a := two.send("/uploads/one/carry-out"); a.status != http.StatusSeeOther {
			t.Fatalf("%d %s", a.status, a.body)
		}
		u := s.state(t, "one")
		owners, err := s.owners(t.Context(), u.Dataset)
		expect.NoError(t, err)
		expect.Equal(t, "u.State", u.State, store.UploadAssigned)
		expect.Equal(t, "u.Dataset", u.Dataset, s.print(t, "clinic"))
		expect.Equal(t, "owners", fmt.Sprint(owners), "[owner-one]")
	}
}

// TestRefusedByTheLedger: a name that is taken can be changed.
func TestRefusedByTheLedger(t *testing.T) {
	s := shores(t, nil)
	s.sent(t, "one", persons(t, "upload", [2]int{9001, 9100}))
	one, two := s.signIn(t, "owner-one"), s.signIn(t, "owner-two")
	one.decide(t, s, "one", nil)
	if a := two.decide(t, s, "one", nil, "name", "north", "epsilon", "1", "delta", "1e-6"); a.status != http.StatusBadRequest || !strings.Contains(a.body, "another name") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if owners, err := s.owners(t.Context(), string(s.Runs.(*fakeRuns).known["one"].Fingerprint)); err != nil || len(owners) > 0 {
		t.Errorf("%q own what the ledger refused, %v", owners, err)
	}
	two.decide(t, s, "one", nil, "name", "clinic", "epsilon", "1", "delta", "1e-6")
	if u := s.state(t, "one"); u.State != store.UploadAssigned {
		t.Errorf("%+v", u)
	}
}

// TestRemoveUpload: an upload is removed by the one who sent it and by owners, and by nobody else; and to
// others it looks as if there were none.
func TestRemoveUpload(t *testing.T) {
	s := shores(t, nil)
	must(t, s.Store.AddAccount(t.Context(), "root", store.Account{Name: "operator-two", Role: store.Operator}, password))
	for _, id := range []string{"one", "two", "three", "four"} {
		s.sent(t, id, persons(t, id, [2]int{1, 510}))
	}
	one, two, other := s.signIn(t, "owner-one"), s.signIn(t, "owner-two"), s.signIn(t, "operator-two")
	for _, b := range []*browser{other, s.signIn(t, "viewer-one")} {
		if a, none := b.send("/uploads/one/remove"), b.send("/uploads/none/remove"); a.status == http.StatusSeeOther || a.body != none.body {
			t.Errorf("another's upload: %d", a.status)
		}
	}
	if strings.Contains(other.get("/runs/new").body, ".csv (uploaded") {
		t.Error("an operator sees what another has uploaded")
	}
	if a := s.signIn(t, "operator-one").send("/uploads/one/remove"); a.status != http.StatusSeeOther {
		t.Errorf("their own: %d", a.status)
	}
	if a := two.send("/uploads/two/remove"); a.status != http.StatusSeeOther {
		t.Errorf("an owner rejects: %d", a.status)
	}
	one.decide(t, s, "three", map[string]string{"north": "claim"})
	two.decide(t, s, "three", nil)
	if a := two.send("/uploads/three/remove"); a.status == http.StatusSeeOther || s.state(t, "three").State != store.UploadAssigned {
		t.Errorf("the owner of another data set removes it: %d", a.status)
	}
	if a := one.send("/uploads/three/remove"); a.status != http.StatusSeeOther {
		t.Errorf("its owner: %d", a.status)
	}
}
