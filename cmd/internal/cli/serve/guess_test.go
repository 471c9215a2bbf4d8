package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/sys/expect"
)

// send uploads a file as guess.csv, and returns the page that follows and the upload's id.
func (v *visitor) send(content string) (page, id string) {
	v.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, err := func() (io.Writer, error) {
		if err := w.WriteField("token", v.token("/runs/new")); err != nil {
			return nil, err
		}
		return w.CreateFormFile("file", "guess.csv")
	}()
	if err != nil {
		v.t.Fatal(err)
	}
	if _, err := io.WriteString(file, content); err != nil {
		v.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		v.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.base+"/uploads", &form)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	id, ours := strings.CutPrefix(answer.Request.URL.Query().Get("source"), "upload:")
	status, page := v.answered(answer, nil)
	if status != 200 || !ours {
		v.t.Fatalf("%d %s", status, page)
	}
	return page, id
}

// post sends a form with the token of the session.
func (v *visitor) post(path string, form url.Values) string {
	v.t.Helper()
	form.Set("token", v.token("/runs/new"))
	status, page := v.answered(v.client.PostForm(v.base+path, form))
	return fmt.Sprint(status, " ", page)
}

var (
	shownTime  = regexp.MustCompile(`<time.*?</time>`)
	shownToken = regexp.MustCompile(`name="token" value="[^"]+"`)
	shownSpeed = regexp.MustCompile(`<dt>Takes up to</dt><dd>.*?</dd>`) // of this machine, as measured when the service began
	shownAt    = regexp.MustCompile(`>\S+ \d+ [A-Z0-9]{8}<`)            // the worker
)

// plainly is a page without what differs from one moment to the next, and the names of things.
func plainly(page string, names ...string) string {
	for _, differs := range []*regexp.Regexp{shownTime, shownToken, shownSpeed, shownAt} {
		page = differs.ReplaceAllString(page, "")
	}
	for _, n := range names {
		page = strings.ReplaceAll(page, n, "NAME")
	}
	return page
}

// rowsOf are the rows of a page's table.
func rowsOf(page string) []string { return strings.Split(page, "<tr>")[1:] }

// endOfLedger is the last row of the ledger.
func endOfLedger(t *testing.T) string {
	t.Helper()
	l, err := ledger.Open(t.Context(), "ledger.db", ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it was read
	c, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.String()
}

// theirs are somebody's records.
func theirs(more int) string {
	var b strings.Builder
	b.WriteString("text,label\n")
	for i := range 300 + more {
		fmt.Fprintf(&b, "person %03d was here,%s\n", i, []string{"up", "down"}[i%2])
	}
	return b.String()
}

// guesses are files with one row, which is in their records or not, in columns that are right, wrong or
// not all there.
func guesses() map[string]string {
	all := map[string]string{}
	for _, in := range []string{"006", "906"} {
		all["right "+in] = "text,label\nperson " + in + " was here,up\n"
		all["wrong "+in] = "said,kind\nperson " + in + " was here,up\n"
		all["missing "+in] = "text\nperson " + in + " was here\n"
	}
	return all
}

// guessing is a service, an operator, and a worker, in a home where theirs are in the ledger with a
// budget, or not at all.
func guessing(t *testing.T, budget string) (*clitest.Server, *visitor) {
	t.Helper()
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"SOTTO_MODEL": "tiny.gguf", "SOTTO_LEDGER": "ledger.db", "SOTTO_STORE": "service.db"} {
		t.Setenv(name, filepath.Join(here, value))
	}
	clitest.Write(t, "task.toml", []byte("kind = \"classify\"\ntext = \"text\"\nlabel = \"label\"\nlabels = [\"up\", \"down\"]\n[generate]\ninstruction = \"Write.\"\n[answer]\ninstruction = \"Up or down?\"\n"))
	clitest.Write(t, "theirs.csv", []byte(theirs(0)))
	clitest.Write(t, "else.csv", []byte("text,label\nsomething else entirely,up\n"))
	clitest.Done(t, "ledger", "init", "else", "--task", "task.toml", "--data", "else.csv", "--epsilon", "1", "--delta", "1e-6")
	if budget != "" {
		clitest.Done(t, "ledger", "init", "theirs", "--task", "task.toml", "--data", "theirs.csv", "--epsilon", budget, "--delta", "1e-6")
	}
	clitest.Done(t, "serve", "route", "set", "plain", "--upstream", "embedded", "--model", "tiny.gguf")
	service := clitest.Serving(t, "--model", "tiny.gguf", "--jobs", "0")
	v, _ := signedIn(t, service.Admin, "operator-one", "operator")
	newWorkers(t).start()
	return service, v
}

// guessForm is a run on an upload.
func guessForm(id string) url.Values {
	return url.Values{
		"source": {"upload:" + id}, "task": {"own"}, "labels": {"up\ndown"}, "text_column": {"text"}, "label_column": {"label"},
		"size": {"300"}, "epsilon": {"4"}, "method": {"clipped"}, "shots": {"2"}, "name": {"guess"},
	}
}

// tries are all that an operator can do with an upload of a guess, and what each shows.
func tries(t *testing.T, v *visitor, content string) map[string]string {
	t.Helper()
	_, before := v.get("/audit")
	page, id := v.send(content)
	shown := map[string]string{"upload": plainly(page, id)}
	form := guessForm(id)
	_, page = v.get("/runs/new?" + form.Encode())
	shown["plan"] = plainly(page, id)
	expect.Contains(t, "page", page, "waits for an owner to assign it")
	expect.Contains(t, "page", page, "Takes up to")
	expect.True(t, "no has ε in page", !strings.Contains(page, "has ε"), page)
	shown["start"] = plainly(v.post("/runs", form), id)
	if !strings.HasPrefix(shown["start"], "400") || !strings.Contains(shown["start"], "waits for an owner to assign it") {
		t.Errorf("%s", shown["start"])
	}
	_, page = v.get("/uploads/" + id)
	shown["page"] = plainly(page, id)
	shown["decide"] = plainly(v.post("/uploads/"+id+"/decide", url.Values{"reason": {"x"}}), id)
	shown["remove"] = plainly(v.post("/uploads/"+id+"/remove", url.Values{}), id)
	_, after := v.get("/audit")
	rows := rowsOf(after)
	shown["log"] = plainly(strings.Join(rows[:len(rows)-len(rowsOf(before))], ""), id)
	return shown
}

// jobsOn are jobs of the command line on uploads that wait, carried out and asked for again.
func jobsOn(t *testing.T, v *visitor, contents map[string]string) map[string]map[string]string {
	t.Helper()
	files, ids, uploads := map[string]string{}, map[string]string{}, map[string]string{}
	for name, content := range contents {
		_, uploads[name] = v.send(content)
	}
	s, err := store.Open(t.Context(), os.Getenv("SOTTO_STORE"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it was read
	var all []string
	for name, upload := range uploads {
		u, err := s.Upload(t.Context(), upload)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = u.File
		ids[name] = addReaders(t, [][]string{{"synth", "--task", "task.toml", "--data", u.File, "--size", "300", "--epsilon", "4", "--method", "clipped", "--set", "on-error=skip"}})[0]
		all = append(all, ids[name])
	}
	shown := map[string]map[string]string{}
	look := func(when string) {
		for name, r := range ended(t, time.Minute, all...) {
			for of, id := range ids {
				if id != name {
					continue
				}
				if shown[of] == nil {
					shown[of] = map[string]string{}
				}
				_, page := v.get("/runs/" + id)
				shown[of][when] = plainly(fmt.Sprint(r.State, r.Error, string(r.Result), r.Failures, page), id, uploads[of])
				if r.State != store.Failed || !strings.Contains(r.Error, "waits for an owner to assign it") {
					t.Errorf("%s is %s: %s", of, r.State, r.Error)
				}
			}
		}
	}
	look("job")
	for _, id := range all {
		v.post("/runs/"+id+"/retry", url.Values{})
	}
	look("again")
	for _, id := range uploads {
		v.post("/uploads/"+id+"/remove", url.Values{})
	}
	return shown
}

// TestPlainGuesses: with the real program an operator uploads a guessed row, and whatever they do with it looks the
// same to the byte whether the row is in somebody's data set or not, whatever its columns, and whether that has budget left,
// has none, or is not in the ledger; and the ledger learns nothing.
func TestPlainGuesses(t *testing.T) {
	worlds := map[string]string{"budget left": "1000", "used up": "0.001", "not in the ledger": ""}
	seen := map[string]map[string]string{}
	for world, budget := range worlds {
		t.Run(world, func(t *testing.T) {
			service, v := guessing(t, budget)
			before := endOfLedger(t)
			for name, content := range guesses() {
				seen[world+", "+name] = tries(t, v, content)
			}
			for name, shown := range jobsOn(t, v, guesses()) {
				for what, page := range shown {
					seen[world+", "+name][what] = page
				}
			}
			if after := endOfLedger(t); after != before {
				t.Error("the ledger has learnt something")
			}
			unequal := regexp.MustCompile(`person \d`)
			if said := service.Stderr.String(); unequal.MatchString(said) {
				t.Errorf("the service says %s", said)
			}
		})
	}
	if t.Failed() || len(seen) != 18 {
		t.Fatalf("%d were tried", len(seen))
	}
	first := seen["budget left, right 006"]
	for name, shown := range seen {
		for what, page := range shown {
			if page != first[what] {
				t.Errorf("%s is not the same for %q as for a row that is there: %s", what, name, differing(page, first[what]))
			}
		}
		if len(shown) != len(first) {
			t.Errorf("%s: %d pages", name, len(shown))
		}
	}
}

// differing is where two texts begin to differ.
func differing(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	around := func(s string) string { return s[max(0, min(at, len(s))-80):min(at+80, len(s))] }
	return fmt.Sprintf("%q and %q", around(a), around(b))
}

// TestPlainAssigned: an owner assigns an upload to their data set, and then its runs are charged to that, by anyone who
// sent it; a file that reads as other records under another separator is not compared with anything.
func TestPlainAssigned(t *testing.T) {
	service, operator := guessing(t, "1000")
	owner, _ := signedIn(t, service.Admin, "owner-one", "owner", "--owns", "theirs", "--owns", "else")
	charges := func() map[string]int {
		out := map[string]int{}
		l, err := ledger.Open(t.Context(), "ledger.db", ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // it was read
		for _, name := range []string{"theirs", "else"} {
			d, err := l.Show(context.Background(), name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = len(d.Charges)
		}
		return out
	}
	// assign has the owner decide that an upload is theirs.
	assign := func(id string) {
		t.Helper()
		_, page := owner.get("/uploads/" + id)
		form := url.Values{"reason": {"the list of this month"}}
		for _, part := range regexp.MustCompile(`(?s)<fieldset>.*?</fieldset>`).FindAllString(page, -1) {
			name := regexp.MustCompile(`name="(set-[^"]+)"`).FindStringSubmatch(part)[1]
			form.Set(name, "other")
			if strings.Contains(part, "<legend>theirs<") {
				form.Set(name, "claim")
			}
			if m := regexp.MustCompile(`name="(shown-[^"]+)"`).FindStringSubmatch(part); m != nil {
				form.Set(m[1], "1")
			}
		}
		if page := owner.post("/uploads/"+id+"/decide", form); !strings.Contains(page, "runs can use it now") {
			t.Fatalf("%s", page)
		}
	}
	_, id := operator.send(theirs(5))
	if _, page := owner.get("/uploads/" + id); !strings.Contains(page, "They share records: about 100 % of the known rows") || !strings.Contains(page, "No records in common") {
		t.Errorf("%s", page)
	}
	assign(id)
	if _, page := operator.get("/runs/new?" + guessForm(id).Encode()); !strings.Contains(page, "has ε") || strings.Contains(page, "waits for an owner") {
		t.Errorf("%s", page)
	}
	run := func(form url.Values) jobResult {
		t.Helper()
		_, page := operator.get("/runs/new?" + form.Encode())
		plan := regexp.MustCompile(`name="plan" value="([^"]+)"`).FindStringSubmatch(page)
		if plan == nil {
			t.Fatalf("%s", page)
		}
		form.Set("plan", plan[1])
		page = operator.post("/runs", form)
		m := regexp.MustCompile(`/runs/([a-z0-9]{12})/cancel`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("%s", page)
		}
		return ended(t, 2*time.Minute, m[1])[m[1]]
	}
	if r := run(guessForm(id)); r.State != store.Done {
		t.Fatalf("%s: %s", r.State, r.Error)
	}
	if got := charges(); got["theirs"] != 1 || got["else"] != 0 {
		t.Errorf("%v", got)
	}
	// More than the budget has is refused with its figures, as for any source.
	form := guessForm(id)
	form.Set("epsilon", "999")
	if r := run(form); r.State != store.Failed || !strings.Contains(r.Error, "refused: budget") {
		t.Errorf("%s: %s", r.State, r.Error)
	}
	// What an owner saw, separated by commas, has nothing in common with theirs. Separated by
	// semicolons it has a guess in it.
	var said []string
	for _, guess := range []string{"006", "906"} {
		_, id := operator.send(fmt.Sprintf("a,b,c,text;label\n1,2,3,4;5\n1,2,3,person %s was here;up\nperson %s was here;up\n", guess, guess))
		assign(id)
		before := endOfLedger(t)
		form := guessForm(id)
		form.Set("text_column", "a,b,c,text")
		r := run(form)
		if r.State != store.Failed || endOfLedger(t) != before {
			t.Errorf("%s, and the ledger has %s", r.State, endOfLedger(t))
		}
		said = append(said, fmt.Sprint(r.State, r.Error, string(r.Result)))
	}
	if said[0] != said[1] || slices.Contains(said, "") {
		t.Errorf("%q", said)
	}
}
