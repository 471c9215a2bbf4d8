package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// writeFiles writes the release, durably, and notes what it is.
func (r *engine) writeFiles(ctx context.Context) error {
	files, err := r.job.files(ctx)
	if err != nil {
		return fmt.Errorf("lay out the release: %w", err)
	}
	subjects := slices.Clone(r.exec.progress.apart)
	for _, f := range files {
		subjects = append(subjects, certificate.Subject{Name: f.Name, Digest: certificate.Digest{SHA256: hexSum(f.Data)}})
	}
	slices.SortFunc(subjects, func(a, b certificate.Subject) int { return strings.Compare(a.Name, b.Name) })
	// A key that was exchanged since is named in the files that it will sign.
	again := r.exec.progress.files != nil && r.exec.progress.signer != r.exec.signerID()
	if r.exec.progress.files != nil && !again && !slices.Equal(r.exec.progress.files, subjects) {
		return r.exec.folder.refuse("its files come out otherwise than they were noted in its journal; use the program that wrote them")
	}
	for _, f := range files {
		if old, err := os.ReadFile(r.exec.folder.path(f.Name)); r.exec.progress.files != nil && err == nil && string(old) == string(f.Data) {
			continue
		}
		if err := writeWhole(r.exec.folder.disk, r.exec.folder.path(f.Name), f.Data, r.exec.mode()); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	if r.exec.progress.files != nil && !again {
		return nil
	}
	return r.exec.announce(entry{State: written, Files: subjects, Signer: r.exec.signerID()}, env.Progress{Kind: env.Written})
}

// statement makes the claim about files and evaluates it.
func (r *engine) statement(files []certificate.Subject) (*certificate.Statement, error) {
	events, err := r.exec.events()
	if err != nil {
		return nil, err
	}
	c := certificate.Claim{
		Subjects: files, Events: events, Adjacency: r.exec.spec.Adjacency, Unit: r.exec.spec.Unit, Delta: r.exec.spec.Delta,
		Standing: certificate.Proven, Randomness: certificate.OSRandom, Version: r.exec.env.Version, Created: r.day(),
	}
	r.job.claim(&c)
	if r.exec.progress != nil && r.exec.progress.charge != "" {
		c.Ledger = &certificate.LedgerReference{Charge: string(r.exec.progress.charge), Head: r.exec.progress.checkpoint}
	}
	return certificate.NewStatement(c, r.exec.evaluator)
}

// certify signs the claim over all files of the folder.
func (r *engine) certify(context.Context) error {
	if !r.exec.certified() {
		return nil
	}
	if there, err := r.exec.folder.exists(certificate.FileName); err != nil || there {
		return err
	}
	subjects, err := certificate.HashFiles(r.exec.folder.dir, append(r.exec.progress.names(), planFile, journalFile)...)
	if err != nil {
		return err
	}
	s, err := r.statement(subjects)
	if err != nil {
		return err
	}
	envelope, err := certificate.Sign(s, r.exec.env.Signer)
	if err != nil {
		return fmt.Errorf("sign the certificate: %w", err)
	}
	if err := writeWhole(r.exec.folder.disk, r.exec.folder.path(certificate.FileName), envelope, 0o644); err != nil {
		return fmt.Errorf("write the certificate: %w", err)
	}
	r.exec.report(env.Progress{Kind: env.Certified})
	return nil
}

// result describes a complete run.
func (r *engine) result(ctx context.Context) (*Result, error) {
	out := &Result{
		Dir: r.exec.folder.dir, Files: r.exec.progress.names(), Run: r.exec.progress.header.Run, Model: r.exec.env.ModelName, LeftOut: r.exec.identity.leftOut(), Private: r.exec.certified(), Event: r.exec.spec.Event,
		Charge: r.exec.progress.charge, Resumed: r.exec.resumed, Certificate: r.exec.certified(), Warnings: r.exec.warnings,
	}
	if err := r.job.fill(ctx, out); err != nil {
		return nil, err
	}
	for _, again := range r.exec.progress.recharges {
		out.Recharges = append(out.Recharges, again.charge)
	}
	if !r.exec.certified() {
		return out, nil
	}
	var err error
	out.Guarantee, out.Drawn, err = r.exec.guarantees()
	out.Event = out.Guarantee.Event
	return out, err
}

// memo keeps what an evaluator said, for a claim is evaluated before anything is charged
// and again when it is signed.
type memo struct {
	of    certificate.Evaluator
	known map[string]privacy.Interval
}

// Name implements [certificate.Evaluator].
func (m *memo) Name() string { return m.of.Name() }

// Epsilon implements [certificate.Evaluator].
func (m *memo) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	key := fmt.Sprint(e, adj, delta)
	if i, ok := m.known[key]; ok {
		return i, nil
	}
	i, err := m.of.Epsilon(e, adj, delta)
	if err != nil {
		return i, err
	}
	if m.known == nil {
		m.known = map[string]privacy.Interval{}
	}
	m.known[key] = i
	return i, nil
}
