package run

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// state is what a line of the journal says was done.
type state string

// The states, in their order.
const (
	planned   state = "planned"
	keyed     state = "keyed"
	reserved  state = "reserved"
	counted   state = "counted"
	labelled  state = "labels"
	ended     state = "ending"
	chosen    state = "chosen"
	begun     state = "begun"
	recharged state = "recharged"
	released  state = "released"
	summed    state = "evidence"
	won       state = "winner"
	varied    state = "varied"
	measuring state = "measuring"
	measured  state = "measured"
	profiled  state = "profiled"
	perturbed state = "perturbed"
	written   state = "written"
	committed state = "committed"
)

// format is the version of run folders that this program reads and writes.
const format = 1

// entry is a line of the journal. Which fields it has depends on its state. All of it is
// public, and nothing in it depends on the records but through the events of the run.
type entry struct {
	State state `json:"state"`
	// Header and Time, the day on which the run began, are set in planned; journals of earlier
	// versions have the second. Runs from a seed have none: they can be repeated.
	Header *header   `json:"header,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	// Charge of reserved, recharged and committed.
	Charge ledger.ChargeID `json:"charge,omitempty"`
	// Event that reserved or recharged charged.
	Event string `json:"event,omitempty"`
	// Account is how the ledger stood after reserved or recharged.
	Account *release.Account `json:"account,omitempty"`
	// Sizes that were counted, one for each part.
	Sizes []int64 `json:"sizes,omitempty"`
	// Labels that were discovered, or Conditions of all texts.
	Found      []string `json:"labels,omitempty"`
	Conditions []string `json:"conditions,omitempty"`
	// Ending that most records share; empty if none does.
	Ending string `json:"ending,omitempty"`
	// Text from 1, and Attempt from 0, of begun, recharged and released.
	Text    int `json:"text,omitempty"`
	Attempt int `json:"attempt,omitempty"`
	// Condition, Output and Steps of a text.
	Condition string `json:"condition,omitempty"`
	Output    string `json:"output,omitempty"`
	Steps     int    `json:"steps,omitempty"`
	// Round from 1 of winner, and of begun where records choose; Point is the winner among what
	// was proposed. Lost: the round was begun and its outcome lost, and the winner before it
	// stands.
	Round int64         `json:"round,omitempty"`
	Point *search.Point `json:"point,omitempty"`
	Lost  bool          `json:"lost,omitempty"`
	// Varied are texts like the winner's of a Round, of varied; there may be none.
	Varied []prompt.Example `json:"varied,omitempty"`
	// Evidence for labels, of evidence.
	Evidence json.RawMessage `json:"evidence,omitempty"`
	// Measured are the noisy counts of prompts, of measured.
	Measured json.RawMessage `json:"measured,omitempty"`
	// Profile of a table, of profiled.
	Profile json.RawMessage `json:"profile,omitempty"`
	// Rows that were perturbed: their number is public.
	Rows int64 `json:"rows,omitempty"`
	// Files that were written, or perturbed.
	Files []certificate.Subject `json:"files,omitempty"`
	// Signer is the id of the key that written names in its files.
	Signer string `json:"signer,omitempty"`
	// Spent, if less than Event, and Checkpoint of the ledger after the commit.
	Spent      string `json:"spent,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"`
}

// header fixes what a run is about. A folder continues only with an equal one.
type header struct {
	Format int `json:"format"`
	// Run names it; at random.
	Run string `json:"run"`
	// Plan is the SHA-256 of plan.json.
	Plan string `json:"plan"`
	// Data is a hash of the run's name and the data's keyed fingerprint. Without the
	// fingerprint nobody can see from it whether two folders are about the same data.
	Data  string `json:"data,omitempty"`
	Model model  `json:"model,omitzero"`
	// Engine that computes, with how it cuts the table: another draws otherwise.
	Engine string `json:"engine,omitempty"`
	// Version of the program: another one may write other texts from the same key.
	Version string            `json:"version"`
	Scope   map[string]string `json:"scope,omitempty"`
	// Seed, if there is one: NOT PRIVATE.
	Seed *uint64 `json:"seed,omitempty"`
	// NotPrivate: the texts below have no privacy guarantee. It follows from the plan and the seed.
	NotPrivate bool `json:"not_private,omitempty"`
}

// model identifies the model of a run.
type model struct {
	Name           string `json:"name"`
	Backend        string `json:"backend"`
	Fingerprint    string `json:"fingerprint,omitempty"`
	Version        string `json:"version,omitempty"`
	Deterministic  bool   `json:"deterministic"`
	BatchInvariant bool   `json:"batch_invariant"`
	// Isolation is how it is known that a prompt's scores depend on it alone, where the
	// back-end does not promise it.
	Isolation lm.Isolation `json:"isolation,omitempty"`
}

// exact reports whether a text comes out the same when it is written again, whatever
// else is written beside it.
func (m model) exact() bool { return m.Deterministic && m.BatchInvariant }

// modelOf identifies a model, and how it is known that it keeps prompts apart.
func modelOf(of lm.TrustedScorer, name string, isolated lm.Isolation) model {
	info := of.Info()
	m := model{
		Name: cmp.Or(name, info.Name), Backend: info.Backend, Fingerprint: info.Fingerprint, Version: info.Version,
		Deterministic: info.Deterministic, BatchInvariant: info.BatchInvariant,
	}
	if isolated != lm.ByConstruction {
		m.Isolation = isolated
	}
	return m
}

// modelOfEncoder identifies an encoder of sentences that sees records where no language model does. By what
// [lm.Embedder] promises its vectors depend neither on the batch nor on the time.
func modelOfEncoder(e lm.TrustedEmbedder) model {
	return model{Name: e.Name(), Backend: "embedded", Fingerprint: e.Fingerprint(), Deterministic: true, BatchInvariant: true}
}

// claimed is how a certificate names the model.
func (m model) claimed() *certificate.Model {
	return &certificate.Model{
		Name: m.Name, Fingerprint: cmp.Or(m.Fingerprint, "not known: the back-end does not tell"),
		Backend: m.Backend, BatchInvariant: m.BatchInvariant, Deterministic: m.Deterministic, Isolation: string(m.Isolation),
	}
}

// journal is the file that says how far a run has come. Lines are linked by SHA-256, so
// that a damaged or reordered file is not taken for a journal.
type journal struct {
	disk disk
	name string
	file file
	link string
	// torn: an append failed, and what is in the file is not known.
	torn bool
}

const (
	linkKey  = `,"link":"`
	linkSize = 32 // hexadecimal digits
)

// line encodes an entry that follows a link, and returns its own link.
func line(e entry, after string) (text []byte, link string, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, "", fmt.Errorf("journal: %w", err)
	}
	link = linkOf(body, after)
	text = append(body[:len(body)-1], linkKey...)
	text = append(text, link...)
	return append(text, "\"}\n"...), link, nil
}

func linkOf(body []byte, after string) string {
	h := sha256.New()
	h.Write([]byte(after))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))[:linkSize]
}

// readJournal returns the entries of a journal and their bytes, none if there is no file.
func readJournal(name string) ([]entry, []byte, error) {
	data, err := bounded.ReadFile(name, bounded.Huge)
	if absent(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return parseJournal(data)
}

// parseJournal reads lines. A last one that was not written in full was never acted upon,
// and is left out.
func parseJournal(data []byte) (entries []entry, read []byte, err error) {
	whole, link := 0, ""
	for whole < len(data) {
		end := bytes.IndexByte(data[whole:], '\n')
		var e entry
		if end >= 0 {
			e, link, err = parseLine(data[whole:whole+end], link)
		}
		if end < 0 || err != nil {
			if end < 0 || whole+end+1 == len(data) {
				return entries, data[:whole], nil
			}
			return nil, nil, fmt.Errorf("line %d of the journal is damaged: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
		whole += end + 1
	}
	return entries, data, nil
}

func parseLine(text []byte, after string) (e entry, link string, err error) {
	tail := len(linkKey) + linkSize + len(`"}`)
	if len(text) < tail+1 || !bytes.HasPrefix(text[len(text)-tail:], []byte(linkKey)) || !bytes.HasSuffix(text, []byte(`"}`)) {
		return e, "", errors.New("it has no link")
	}
	cut := len(text) - tail
	link = string(text[cut+len(linkKey) : cut+len(linkKey)+linkSize])
	body := append(bytes.Clone(text[:cut]), '}')
	if linkOf(body, after) != link {
		return e, "", errors.New("its link belongs to another line")
	}
	return e, link, bounded.UnmarshalJSON(body, bounded.Huge, &e)
}

// openJournal continues with what was read of a journal. It is written anew: after a failed
// fsync a file may read as if it was on disk without being there.
func openJournal(d disk, name string, data []byte, mode fs.FileMode) (*journal, error) {
	if err := writeWhole(d, name, data, mode); err != nil {
		return nil, err
	}
	f, err := d.Append(name)
	if err != nil {
		return nil, err
	}
	j := &journal{disk: d, name: name, file: f}
	if n := len(data); n > 0 {
		j.link = string(data[n-len("\"}\n")-linkSize : n-len("\"}\n")])
	}
	return j, nil
}

// append adds a line, durably.
func (j *journal) append(e entry) error {
	if j.torn {
		return errors.New("the journal could not be written before")
	}
	text, link, err := line(e, j.link)
	if err != nil {
		return err
	}
	if _, err = j.file.Write(text); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.torn = true
		return fmt.Errorf("write the journal: %w", err)
	}
	j.link = link
	return nil
}

func (j *journal) close() error { return j.file.Close() }
