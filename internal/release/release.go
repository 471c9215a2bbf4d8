package release

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/durable"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// Size is the number of units in a part of the data, as it was declared or counted
// with noise.
type Size struct {
	// Part is a label of a closed list, or "" for all.
	Part  string `json:"part,omitempty"`
	Units int64  `json:"units"`
}

// Release is the output of a run with its description. All of it is public.
type Release struct {
	// Task and Examples are required.
	Task     prompt.Task
	Examples []prompt.Example
	// Origin states how the examples were made; Tables are numbers to show beside them.
	Origin Origin
	Tables []Table
	// ExtraFiles lists further files with their descriptions.
	ExtraFiles [][2]string
	// Method that made the examples, with its settings to show. Required.
	Method   string
	Settings map[string]any
	// Private states that the method has a proof, Seeded that the randomness is known.
	Private bool
	Seeded  bool
	// Claim is what a publication claims of a method without a proof, and why that does
	// not hold; "" where nothing is claimed.
	Claim string
	// Guarantee of the whole; nil when there is none, and then nothing is private.
	Guarantee *privacy.Guarantee
	// Prompt is the prompt that the records chose, if they did. Examples are then its
	// examples, and there may be none.
	Prompt *prompt.Prompt
	// Evidence is what all records say about labels, if they were added up.
	Evidence *evidence.Evidence
	// Worth is the measured quality, if it was measured.
	Worth *Worth
	// Unsigned: the guarantee is not in a certificate beside the files.
	Unsigned bool
	// Drawn is the guarantee, over all that is released, of units that are known to have been
	// drawn each time; nil if it is not stated.
	Drawn *privacy.Guarantee
	// Sizes are the sizes behind the sampling rates; Counted if they were counted with
	// noise, not declared.
	Sizes   []Size
	Counted bool
	// Model that generated, its Backend, "embedded" for this program's own engine, and how a
	// server's scores are known to depend on one record alone; and the program's version.
	Model     string
	Backend   string
	Isolation string
	Version   string
	// Date is the day on which the run began; zero if it can be repeated from a seed.
	Date time.Time
	// Account is how the ledger stood when the run was charged; nil if it was not.
	Account *Account
	// Signer is the id of the key that signs the certificate.
	Signer string
	// Forecast says what examples like these gained on public data sets, in words.
	Forecast string
	// ModelTokens is the planned number of tokens through the model. Counts and times of
	// the run depend on which records were drawn and on their length, so they have no place
	// in a release.
	ModelTokens int64
	// Words explain the guarantee; nil takes [Words] of it.
	Words []string
}

// NotPrivate reports whether the files must be marked as not private.
func (r Release) NotPrivate() bool { return !r.Private || r.Seeded || r.Guarantee == nil }

// File is a file of a release.
type File struct {
	Name string
	Data []byte
}

// Mark marks files of a release without a guarantee.
const Mark = "NOT PRIVATE"

// why reports what is missing for a guarantee.
func (r Release) why() string {
	switch {
	case r.Seeded:
		return "the random numbers of this run are known, so it has no privacy guarantee; it is a test or a simulation"
	case !r.Private && r.Claim != "":
		return fmt.Sprintf("the method %s has no privacy guarantee; %s", r.Method, r.Claim)
	case !r.Private:
		return fmt.Sprintf("the method %s has no privacy guarantee, and records may be read off what it wrote; it is for comparison only", r.Method)
	}
	return "nothing is guaranteed about these files"
}

// CheckTask returns an error if examples of a task cannot be written. Call it before
// spending budget on them.
func CheckTask(t prompt.Task) error {
	if t.Text == "" || t.Label == "" {
		return errors.New("a release needs a task with two columns")
	}
	if t.Text == t.Label || t.Text == markMember || t.Label == markMember {
		return fmt.Errorf("the columns of the task are called %q and %q: rename them, so that they differ from each other and from %q", t.Text, t.Label, markMember)
	}
	return nil
}

func (r Release) check() error {
	if len(r.Examples) == 0 && r.Prompt == nil {
		return errors.New("a release needs examples, and there are none")
	}
	if r.Method == "" {
		return errors.New("a release needs its method")
	}
	if err := CheckTask(r.Task); err != nil {
		return err
	}
	for i, e := range r.Examples {
		if !utf8.ValidString(e.Input) || !utf8.ValidString(e.Output) {
			return fmt.Errorf("example %d is not UTF-8", i+1)
		}
	}
	return nil
}

// Render returns all files, in the order of the package documentation. The same release
// gives the same bytes.
func Render(r Release) ([]File, error) {
	r.Task = r.Task.WithDefaults()
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Words == nil && r.Guarantee != nil {
		r.Words = Words(*r.Guarantee, r.Drawn)
	}
	var files []File
	for _, f := range []struct {
		name   string
		render func(Release) ([]byte, error)
	}{
		{"demos.jsonl", demos},
		{"chat.json", chat},
		{"prompt.txt", prefix},
		{promptFile, chosen},
		{evidence.File, evidenceFile},
		{"dspy.json", dspy},
		{"finetune.jsonl", finetune},
		{"use.md", use},
		{croissantFile, croissant},
		{"README.md", card},
		{ReportFile, func(r Release) ([]byte, error) { return report(r, files) }},
	} {
		switch {
		case r.learned() && forPrompts[f.name], r.bare() && forExamples[f.name]:
			continue
		case f.name == promptFile && r.Prompt == nil, f.name == evidence.File && r.Evidence == nil, f.name == croissantFile && r.bare():
			continue
		}
		data, err := f.render(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, File{f.name, data})
	}
	return files, nil
}

// Write renders a release into a directory that exists, each file whole or not at all,
// and returns their names. When it returns without an error they are on disk.
func Write(dir string, r Release) (names []string, err error) {
	files, err := Render(r)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		// Nothing in a release is secret: others may read it.
		if err := durable.Replace(filepath.Join(dir, f.Name), 0o644, durable.Bytes(f.Data)); err != nil {
			return names, fmt.Errorf("write %s: %w", f.Name, err)
		}
		names = append(names, f.Name)
	}
	if err := durable.SyncDir(dir); err != nil {
		return names, fmt.Errorf("make the release durable: %w", err)
	}
	return names, nil
}
