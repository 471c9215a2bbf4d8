package certificate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

// VerifyOptions configure a verification.
type VerifyOptions struct {
	// Trust holds the keys that may sign; required.
	Trust *Trust
	// Evaluator computes ε again; required.
	Evaluator Evaluator
	// Strict takes warnings as failures.
	Strict bool
	// Now is the time to compare dates with; the present when zero.
	Now time.Time
}

// Report is the conclusion on a certificate.
type Report struct {
	// OK: every check holds.
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
	// Key is the ID of the key that signed. This and what follows is absent unless its
	// signature holds.
	Key      string    `json:"key,omitempty"`
	Subjects []Subject `json:"subjects,omitempty"`
	// Unlisted are files in the folder that the certificate does not cover: they may hold
	// anything. They cause a warning, or a failure with Strict.
	Unlisted  []string   `json:"unlisted,omitempty"`
	Predicate *Predicate `json:"predicate,omitempty"`
	// Recomputed is the verifier's own ε.
	Recomputed *Epsilon `json:"recomputed,omitempty"`
}

// Failures lists the checks that do not hold.
func (r *Report) Failures() []Check {
	var bad []Check
	for _, c := range r.Checks {
		if !c.OK {
			bad = append(bad, c)
		}
	}
	return bad
}

// VerifyDir verifies the certificate of a release directory. No file outside of
// it is read, whatever the certificate says.
func VerifyDir(dir string, o VerifyOptions) (*Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("release directory: %w", err)
	}
	defer root.Close()
	return Verify(root.FS(), o)
}

// Verify verifies the certificate at the top of a file system against the files there. An
// error means that the options are unusable; problems of the release are in the report.
// Checks that depend on a failed one are listed as failed too: nothing unsigned is
// interpreted.
func Verify(release fs.FS, o VerifyOptions) (*Report, error) {
	if o.Trust == nil || len(o.Trust.keys) == 0 {
		return nil, errors.New("there is no trusted key: give the signer's public key")
	}
	if o.Evaluator == nil {
		return nil, errors.New("there is no evaluator to compute ε with")
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	v := verification{o: o, release: release}
	v.run()
	v.report.OK = len(v.report.Failures()) == 0
	return &v.report, nil
}

type verification struct {
	o       VerifyOptions
	release fs.FS
	report  Report
}

// checkNames lists all checks of a conclusion, in order.
var checkNames = []string{
	"envelope", "signature", "statement", "date", "files", "unlisted files",
	"origin", "events", "adjacency and unit", "delta", "samplers and sizes",
	"known draws", "assumptions", "epsilon", "epsilon of known draws",
}

func (v *verification) add(name, detail string, err error) {
	v.report.Checks = append(v.report.Checks, outcome(name, detail, err))
}

// run makes the checks in order. It stops where the next would interpret something unsigned
// or unsound, and lists the rest as failed, so that the absence of a check is never taken
// for success.
func (v *verification) run() {
	if b := v.signed(); b != nil {
		v.report.Subjects, v.report.Predicate = b.Subject, &b.Predicate
		v.files(b.Subject)
		v.unlisted(b.Subject)
		v.report.Checks = append(v.report.Checks, b.Predicate.checks()...)
		if _, total, err := b.Predicate.checkEvents(); err == nil {
			v.epsilon(&b.Predicate, total)
		}
	}
	for _, name := range checkNames {
		if !slices.ContainsFunc(v.report.Checks, func(c Check) bool { return c.Name == name }) {
			v.add(name, "", errors.New("not checked, because an earlier check failed"))
		}
	}
	for i, c := range v.report.Checks {
		v.report.Checks[i].OK = c.OK && !(c.Warning && v.o.Strict)
	}
}

// signed returns the statement if a trusted key signed it, else nil.
func (v *verification) signed() *body {
	data, err := readCertificate(v.release)
	if err != nil {
		v.add("envelope", "", err)
		return nil
	}
	env, payload, err := openEnvelope(data)
	v.add("envelope", fmt.Sprintf("DSSE, %d bytes, %s", len(data), payloadType), err)
	if err != nil {
		return nil
	}
	key, err := v.o.Trust.verify(env, payload)
	v.report.Key = key.ID
	v.add("signature", "Ed25519, by trusted key "+key.ID, err)
	if err != nil {
		return nil
	}
	b, err := parseStatement(payload)
	if err != nil {
		v.add("statement", "", err)
		return nil
	}
	v.add("statement", "in-toto Statement v1, "+b.PredicateType, nil)
	v.add("date", "the signer dates it "+b.Predicate.Created.Format(time.DateOnly), v.date(&key, b.Predicate.Created))
	return b
}

// date compares the signer's day with the end of the key and the verifier's clock.
func (v *verification) date(k *Key, created time.Time) error {
	if err := k.admits(created); err != nil {
		return err
	}
	const skew = 24 * time.Hour
	if created.After(v.o.Now.Add(skew)) {
		return caution{fmt.Sprintf("it is dated %s, in the future: a clock is wrong, or the date is", created.Format(time.DateOnly))}
	}
	return nil
}

func (v *verification) files(subjects []Subject) {
	var bad []error
	for _, s := range subjects {
		sum, err := hashFile(v.release, s.Name)
		if err == nil && sum != s.Digest.SHA256 {
			err = fmt.Errorf("%s was changed: its SHA-256 is %s, the certificate says %s", s.Name, sum, s.Digest.SHA256)
		}
		if err != nil {
			bad = append(bad, err)
		}
	}
	v.add("files", fmt.Sprintf("%d released files are as they were signed", len(subjects)), errors.Join(bad...))
}

func (v *verification) unlisted(subjects []Subject) {
	extra, err := unlisted(v.release, subjects)
	v.report.Unlisted = extra
	if err == nil && len(extra) > 0 {
		err = caution{"the certificate says nothing about " + some(extra)}
	}
	v.add("unlisted files", "none", err)
}

func (v *verification) epsilon(p *Predicate, total privacy.Event) {
	got, err := evaluate(total, p.Adjacency, p.Delta, v.o.Evaluator)
	detail := ""
	if err == nil {
		v.report.Recomputed = &got
		detail, err = compare(p.Epsilon, got)
	}
	v.add("epsilon", detail, err)
	v.known(p)
}

// known computes again what is stated against someone who knows whose records were drawn.
func (v *verification) known(p *Predicate) {
	detail, err := "nothing is stated", error(nil)
	if p.Drawn != nil {
		detail, err = v.again(p, p.Drawn.Event, p.Drawn.Epsilon)
	}
	v.add("epsilon of known draws", detail, err)
}

// again evaluates an event and compares the outcome with what is stated.
func (v *verification) again(p *Predicate, event string, stated Epsilon) (string, error) {
	e, err := parseCanonical(event)
	if err != nil {
		return "", err
	}
	got, err := evaluate(e, p.Adjacency, p.Delta, v.o.Evaluator)
	if err != nil {
		return "", err
	}
	return compare(stated, got)
}
